// A small part of Markdown, as data. Reports are untrusted: nothing here makes HTML, and a link leads only to http or https.

export type Inline =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'strong'; readonly children: readonly Inline[] }
  | { readonly kind: 'emphasis'; readonly children: readonly Inline[] }
  | { readonly kind: 'link'; readonly href: string; readonly children: readonly Inline[] };

export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly children: readonly Inline[] }
  | { readonly kind: 'paragraph'; readonly lines: readonly (readonly Inline[])[] }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'quote'; readonly blocks: readonly Block[] }
  | { readonly kind: 'list'; readonly start: number | null; readonly items: readonly (readonly Block[])[] }
  | { readonly kind: 'rule' };

/** Longer texts are cut, because a page with a million nodes can't be used. */
export const MARKDOWN_CHARS_MAX = 200_000;
/** Marks of a longer line are not looked for: each one that is not closed is looked for to the end of the line. */
const LINE_CHARS_MAX = 4000;
const DEPTH_MAX = 6;

export function parseMarkdown(text: string): Block[] {
  return parseBlocks(text.slice(0, MARKDOWN_CHARS_MAX).replace(/\r\n?/g, '\n').split('\n'), 0);
}

const FENCE = /^ {0,3}(```+|~~~+)/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*$/;
const RULE = /^ {0,3}([-*_])[ \t]*(\1[ \t]*){2,}$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const ITEM = /^( {0,3})([-*+]|(\d{1,9})[.)])([ \t]+)(.*)$/;

function parseBlocks(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  const endParagraph = () => {
    if (paragraph.length === 0) return;
    blocks.push({ kind: 'paragraph', lines: paragraph.map((line) => parseInline(line.trim())) });
    paragraph = [];
  };
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? '';
    const fence = FENCE.exec(line)?.[1];
    if (fence !== undefined) {
      endParagraph();
      let last = at + 1;
      while (last < lines.length && !(lines[last] ?? '').trim().startsWith(fence)) last += 1;
      blocks.push({ kind: 'code', text: lines.slice(at + 1, last).join('\n') });
      at = last + 1;
      continue;
    }
    if (line.trim() === '') {
      endParagraph();
      at += 1;
      continue;
    }
    const heading = HEADING.exec(line);
    if (heading) {
      endParagraph();
      blocks.push({ kind: 'heading', level: (heading[1] ?? '#').length, children: parseInline(heading[2] ?? '') });
      at += 1;
      continue;
    }
    if (RULE.test(line)) {
      endParagraph();
      blocks.push({ kind: 'rule' });
      at += 1;
      continue;
    }
    if (depth < DEPTH_MAX && QUOTE.test(line)) {
      endParagraph();
      const quoted: string[] = [];
      for (; at < lines.length; at += 1) {
        const inside = QUOTE.exec(lines[at] ?? '');
        if (!inside) break;
        quoted.push(inside[1] ?? '');
      }
      blocks.push({ kind: 'quote', blocks: parseBlocks(quoted, depth + 1) });
      continue;
    }
    // A list begins inside a paragraph only with a bullet or the number 1, so that "in 2019. Then" stays a sentence.
    const item = ITEM.exec(line);
    if (depth < DEPTH_MAX && item && (paragraph.length === 0 || item[3] === undefined || item[3] === '1')) {
      endParagraph();
      const list = parseList(lines, at, depth);
      blocks.push(list.block);
      at = list.next;
      continue;
    }
    paragraph.push(line);
    at += 1;
  }
  endParagraph();
  return blocks;
}

function parseList(lines: readonly string[], from: number, depth: number): { block: Block; next: number } {
  const first = ITEM.exec(lines[from] ?? '');
  const isOrdered = first?.[3] !== undefined;
  const items: Block[][] = [];
  let at = from;
  while (at < lines.length) {
    const item = ITEM.exec(lines[at] ?? '');
    if (!item || (item[3] !== undefined) !== isOrdered) break;
    const indent = (item[1] ?? '').length + (item[2] ?? '').length + Math.min((item[4] ?? ' ').length, 4);
    const inside = [item[5] ?? ''];
    at += 1;
    while (at < lines.length) {
      const line = lines[at] ?? '';
      const margin = line.length - line.trimStart().length;
      if (line.trim() === '') {
        // A blank line belongs to the item only if what follows is indented.
        const after = lines[at + 1] ?? '';
        if (after.trim() === '' || after.length - after.trimStart().length < 2) break;
        inside.push('');
      } else if (margin >= Math.min(indent, 2)) {
        inside.push(line.slice(Math.min(indent, margin)));
      } else break;
      at += 1;
    }
    items.push(parseBlocks(inside, depth + 1));
    // One blank line between two items does not end the list.
    const next = ITEM.exec(lines[at + 1] ?? '');
    if ((lines[at] ?? '').trim() === '' && next && (next[3] !== undefined) === isOrdered) at += 1;
  }
  return { block: { kind: 'list', start: isOrdered ? Number(first?.[3]) : null, items }, next: at };
}

/** Returns the address if a link may lead there. */
export function safeHref(text: string): string | null {
  if (!/^https?:\/\//i.test(text)) return null;
  try {
    const url = new URL(text);
    return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : null;
  } catch {
    return null;
  }
}

const INLINE = /(`+)([\s\S]*?[^`])\1(?!`)|\*\*(?=\S)([\s\S]*?\S)\*\*|\*(?=[^\s*])([^*]*?[^\s*])\*|\[([^\][]*)\]\(([^()\s]*)\)|(https?:\/\/[^\s<>"'`]+)/i;

export function parseInline(text: string, depth = 0): Inline[] {
  const found: Inline[] = [];
  let rest = text;
  const plain = (words: string) => {
    const last = found.at(-1);
    if (words === '') return;
    if (last?.kind === 'text') found[found.length - 1] = { kind: 'text', text: last.text + words };
    else found.push({ kind: 'text', text: words });
  };
  while (rest !== '') {
    const match = depth > DEPTH_MAX || text.length > LINE_CHARS_MAX ? null : INLINE.exec(rest);
    if (!match) {
      plain(rest);
      break;
    }
    plain(rest.slice(0, match.index));
    let whole = match[0];
    const [, , code, strong, emphasis, label, address, bare] = match;
    if (code !== undefined) found.push({ kind: 'code', text: code.length > 2 ? code.replace(/^ (.*) $/, '$1') : code });
    else if (strong !== undefined) found.push({ kind: 'strong', children: parseInline(strong, depth + 1) });
    else if (emphasis !== undefined) found.push({ kind: 'emphasis', children: parseInline(emphasis, depth + 1) });
    else if (label !== undefined) {
      const href = safeHref(address ?? '');
      // A link that may lead elsewhere is shown as it was written.
      if (href === null) plain(whole);
      else found.push({ kind: 'link', href, children: parseInline(label === '' ? href : label, depth + 1) });
    } else if (bare !== undefined) {
      whole = bare.replace(/[.,;:!?)\]}*]+$/, '');
      const href = safeHref(whole);
      if (href === null) plain(whole);
      else found.push({ kind: 'link', href, children: [{ kind: 'text', text: whole }] });
    }
    rest = rest.slice(match.index + Math.max(whole.length, 1));
  }
  return found;
}
