// Shows parsed Markdown as elements. Texts become text nodes only.
import { useMemo, useState } from 'preact/hooks';
import { MARKDOWN_CHARS_MAX, parseMarkdown, type Block, type Inline } from './markdown';

function Words({ parts }: { parts: readonly Inline[] }) {
  return (
    <>
      {parts.map((part) => {
        switch (part.kind) {
          case 'text':
            return part.text;
          case 'code':
            return <code>{part.text}</code>;
          case 'strong':
            return (
              <strong>
                <Words parts={part.children} />
              </strong>
            );
          case 'emphasis':
            return (
              <em>
                <Words parts={part.children} />
              </em>
            );
          case 'link':
            return (
              <a href={part.href} target="_blank" rel="noopener noreferrer nofollow">
                <Words parts={part.children} />
              </a>
            );
        }
      })}
    </>
  );
}

function BlockView({ block }: { block: Block }) {
  switch (block.kind) {
    case 'heading':
      // The page has its own headings: those of a report come below them.
      return (
        <p class={`md-heading md-h${Math.min(block.level, 3)}`}>
          <Words parts={block.children} />
        </p>
      );
    case 'paragraph':
      return (
        <p>
          {block.lines.map((line, index) => (
            <>
              {index > 0 && <br />}
              <Words parts={line} />
            </>
          ))}
        </p>
      );
    case 'code':
      return (
        <pre tabIndex={0} role="group" aria-label="Code">
          <code>{block.text}</code>
        </pre>
      );
    case 'quote':
      return (
        <blockquote>
          <Blocks blocks={block.blocks} />
        </blockquote>
      );
    case 'list': {
      const items = block.items.map((item) => (
        <li>
          <Blocks blocks={item} />
        </li>
      ));
      return block.start === null ? <ul>{items}</ul> : <ol start={block.start}>{items}</ol>;
    }
    case 'rule':
      return <hr />;
  }
}

function Blocks({ blocks }: { blocks: readonly Block[] }) {
  return (
    <>
      {blocks.map((block) => (
        <BlockView block={block} />
      ))}
    </>
  );
}

/** `dir="auto"` puts right-to-left texts right. */
export function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => parseMarkdown(text), [text]);
  return (
    <div class="md" dir="auto">
      <Blocks blocks={blocks} />
      {text.length > MARKDOWN_CHARS_MAX && <p class="quiet-text">Only the first {MARKDOWN_CHARS_MAX.toLocaleString('en')} characters are shown.</p>}
    </div>
  );
}

const FOLD_CHARS = 1200;
const FOLD_LINES = 16;

/** A long text is folded: its first lines, and a button that shows the rest. */
export function Folded({ text, plain = false }: { text: string; plain?: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const lines = text.split('\n');
  const isLong = text.length > FOLD_CHARS || lines.length > FOLD_LINES;
  const part = isLong && !isOpen ? lines.slice(0, FOLD_LINES).join('\n').slice(0, FOLD_CHARS) : text;
  return (
    <div class={isLong && !isOpen ? 'folded is-cut' : 'folded'}>
      {plain ? (
        <pre class="plain" dir="auto">
          {part}
        </pre>
      ) : (
        <Markdown text={part} />
      )}
      {isLong && (
        <button type="button" class="quiet small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Show less' : lines.length > FOLD_LINES ? `Show all ${lines.length.toLocaleString('en')} lines` : 'Show all'}
        </button>
      )}
    </div>
  );
}
