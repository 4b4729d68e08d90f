import { expect, test } from 'vitest';
import { MARKDOWN_CHARS_MAX, parseInline, parseMarkdown, safeHref } from '../../src/ui/markdown';

const text = (words: string) => ({ kind: 'text', text: words });

test('a report of the demo keeps its lines and its numbered places', () => {
  const blocks = parseMarkdown('The evidence meets at a.py:32.\nplaces:\n1. a.py:32: x = 1\n   by api-reader\n2. b.py:2: y');
  expect(blocks.map((block) => block.kind)).toEqual(['paragraph', 'list']);
  const list = blocks[1];
  if (list?.kind !== 'list') throw new Error('a list');
  expect(list.start).toBe(1);
  expect(list.items).toHaveLength(2);
  expect(list.items[0]).toEqual([{ kind: 'paragraph', lines: [[text('a.py:32: x = 1')], [text('by api-reader')]] }]);
});

test('headings, code, quotes and rules are blocks of their own', () => {
  expect(parseMarkdown('# A\n\n```rs\n<b>*x*</b>\n```\n> q\n\n---').map((block) => block.kind)).toEqual([
    'heading',
    'code',
    'quote',
    'rule',
  ]);
  expect(parseMarkdown('```\nnever closed')).toEqual([{ kind: 'code', text: 'never closed' }]);
});

test('words may be strong, emphatic, code or a link', () => {
  expect(parseInline('a **b** *c* `d` [e](https://x.test/) f')).toEqual([
    text('a '),
    { kind: 'strong', children: [text('b')] },
    text(' '),
    { kind: 'emphasis', children: [text('c')] },
    text(' '),
    { kind: 'code', text: 'd' },
    text(' '),
    { kind: 'link', href: 'https://x.test/', children: [text('e')] },
    text(' f'),
  ]);
  expect(parseInline('see https://x.test/a.')).toEqual([
    text('see '),
    { kind: 'link', href: 'https://x.test/a', children: [text('https://x.test/a')] },
    text('.'),
  ]);
});

test('a link leads only to http and https', () => {
  for (const bad of ['javascript:alert(1)', 'JaVaScRiPt:alert(1)', 'data:text/html,x', '//x.test', '/a', 'vbscript:x', 'https://']) {
    expect(safeHref(bad), bad).toBeNull();
    expect(JSON.stringify(parseInline(`[x](${bad})`))).not.toContain('"link"');
  }
});

test('HTML stays text', () => {
  const evil = '<img src=x onerror=alert(1)><script>alert(2)</script>';
  expect(parseMarkdown(evil)).toEqual([{ kind: 'paragraph', lines: [[text(evil)]] }]);
});

test('hostile texts are parsed in bounded time', () => {
  const start = performance.now();
  for (const evil of ['*', '`', '[', '> ', '- ', '**a ', '*a', '[a](', '```\n', '~~~\nx\n```\n', '1. ', '**a\n', `${'**a '.repeat(900)}\n`, `${'`a'.repeat(1900)}\n`, 'https://']) {
    parseMarkdown(evil.repeat(MARKDOWN_CHARS_MAX / evil.length));
  }
  // Far more than it takes, because other programs run on the same machine. Without limits on a line, it takes longer.
  expect(performance.now() - start).toBeLessThan(4000);
}, 60_000);

test('a very long line is text without marks', () => {
  const line = `**a** ${'x'.repeat(5000)}`;
  expect(parseMarkdown(line)).toEqual([{ kind: 'paragraph', lines: [[text(line)]] }]);
});

test('"in 2019. Then" inside a paragraph is no list', () => {
  expect(parseMarkdown('It was\n2019. Then').map((block) => block.kind)).toEqual(['paragraph']);
});
