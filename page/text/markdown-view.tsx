// Draws Markdown as elements. Links show the host that they lead to, and lead there without saying
// from where. Images and HTML stay the text that they were written as.
import { showUnseen } from '../../system/text.ts';
import type { MarkdownSpan } from '../../client/faces/types.ts';
import { inlineSpans } from '../../client/faces/words.ts';
import { codeTokens } from './code-tokens.ts';
import { parseMarkdown, type ListItem, type MarkdownBlock } from './markdown.ts';

/** The headings of a text are below those of the page, and leave no level out. */
export function MarkdownText({ text }: { readonly text: string }) {
  return <>{drawBlocks(parseMarkdown(text), createLevels())}</>;
}

type HeadingName = 'h3' | 'h4' | 'h5';
/** Returns the element of the next heading by its level in the text. */
type Levels = (level: number) => HeadingName;

function createLevels(): Levels {
  const above: number[] = [];
  return (level) => {
    while (above.length > 0 && (above.at(-1) ?? 0) >= level) above.pop();
    above.push(level);
    return above.length === 1 ? 'h3' : above.length === 2 ? 'h4' : 'h5';
  };
}

/** Functions and no components: levels are asked for in the order of the text. */
const drawBlocks = (blocks: readonly MarkdownBlock[], levels: Levels) =>
  blocks.map((block) => drawBlock(block, levels));

function drawBlock(block: MarkdownBlock, levels: Levels) {
  switch (block.kind) {
    case 'heading':
      return <HeadingLine name={levels(block.level)} text={block.text} />;
    case 'paragraph':
      return (
        <p>
          <Inline text={block.text} />
        </p>
      );
    case 'code':
      return <CodeBlock language={block.language} text={block.text} />;
    case 'quote':
      return <blockquote>{drawBlocks(block.blocks, levels)}</blockquote>;
    case 'list':
      return drawList(block.start, block.items, levels);
    case 'table':
      return <Table {...block} />;
    case 'rule':
      return <hr />;
  }
}

function HeadingLine({ name: Name, text }: { readonly name: HeadingName; readonly text: string }) {
  return (
    <Name>
      <Inline text={text} />
    </Name>
  );
}

function CodeBlock({ language, text }: { readonly language: string; readonly text: string }) {
  return (
    <pre class="code" tabindex={0} aria-label={language === '' ? 'Code' : `Code, ${showUnseen(language.slice(0, 30))}`}>
      <code>
        <Tokens language={language} text={text} />
      </code>
    </pre>
  );
}

/** Draws code with its parts coloured by class. */
export function Tokens({ language, text }: { readonly language: string; readonly text: string }) {
  return (
    <>
      {codeTokens(text, language).map(({ kind, text: part }) =>
        kind === 'plain' ? showUnseen(part) : <span class={`tok-${kind}`}>{showUnseen(part)}</span>,
      )}
    </>
  );
}

function drawList(start: number | null, items: readonly ListItem[], levels: Levels) {
  const drawn = items.map((item) => (
    <li class={item.ticked === null ? undefined : 'ticks'}>
      {item.ticked === null ? null : <span class="tick">{item.ticked ? '☑ ' : '☐ '}</span>}
      {drawItem(item.blocks, levels)}
    </li>
  ));
  return start === null ? <ul>{drawn}</ul> : <ol start={start}>{drawn}</ol>;
}

/** A first paragraph needs no element of its own, and no space below it. */
function drawItem(blocks: readonly MarkdownBlock[], levels: Levels) {
  const [first] = blocks;
  return (
    <>
      {first?.kind === 'paragraph' ? <Inline text={first.text} /> : null}
      {drawBlocks(first?.kind === 'paragraph' ? blocks.slice(1) : blocks, levels)}
    </>
  );
}

type TableProps = Omit<Extract<MarkdownBlock, { readonly kind: 'table' }>, 'kind'>;

function Table({ head, sides, rows }: TableProps) {
  const sideOf = (column: number) => sides[column] ?? undefined;
  return (
    <div class="wide" tabindex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {head.map((cell, column) => (
              <th class={sideOf(column)}>
                <Inline text={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map((cell, column) => (
                <td class={sideOf(column)}>
                  <Inline text={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Longer parts of a line are parsed apart: marks within a line take more than linear time. */
const PARSED = 1_000;

function Inline({ text }: { readonly text: string }) {
  return (
    <>{text.split('\n').flatMap((line, at) => [...(at > 0 ? ['\n'] : []), ...chunksOf(line).flatMap(drawLine)])}</>
  );
}

function chunksOf(line: string): readonly string[] {
  const chunks: string[] = [];
  for (let from = 0; from < line.length; from += PARSED) chunks.push(line.slice(from, from + PARSED));
  return chunks;
}

function drawLine(line: string): readonly unknown[] {
  const spans = inlineSpans(line);
  return spans.map((span, at) => <Span span={span} target={spans[at + 1]} />);
}

function Span({ span, target }: { readonly span: MarkdownSpan; readonly target: MarkdownSpan | undefined }) {
  const { text, marks } = span;
  if (marks.includes('link')) {
    const url = target?.marks.includes('target') ? target.text.slice(2, -1) : text;
    return <LinkText words={text} url={url} />;
  }
  // The link before it shows its host.
  if (marks.includes('target')) return isWeb(text.slice(2, -1)) ? null : <span class="host">{showUnseen(text)}</span>;
  const plain = <>{marks.includes('code') ? showUnseen(text) : withAddresses(text)}</>;
  return marks.reduceRight((inner, mark) => {
    if (mark === 'code') return <code>{inner}</code>;
    if (mark === 'strong') return <strong>{inner}</strong>;
    return mark === 'emphasis' ? <em>{inner}</em> : <s>{inner}</s>;
  }, plain);
}

/** Returns the URL that a link may lead to; null for anything but a page of the web. */
function webAddress(url: string): URL | null {
  const address = URL.canParse(url) ? new URL(url) : null;
  return address && (address.protocol === 'https:' || address.protocol === 'http:') && address.username === ''
    ? address
    : null;
}

const isWeb = (url: string): boolean => webAddress(url) !== null;

function LinkText({ words, url }: { readonly words: string; readonly url: string }) {
  const address = webAddress(url);
  if (address === null) return <>{showUnseen(words)}</>;
  return (
    <>
      <a href={address.href} rel="noreferrer noopener nofollow" target="_blank">
        {showUnseen(words)}
      </a>
      {words.includes(address.host) ? null : <span class="host">{` (${address.host})`}</span>}
    </>
  );
}

const ADDRESS = /https?:\/\/[^\s<>"'`)\]]{1,1000}/g;

/** Makes links of addresses that stand in the text. */
function withAddresses(text: string): readonly unknown[] {
  const parts: unknown[] = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(ADDRESS)) {
    const url = found.replace(/[.,;:!?]$/, '');
    parts.push(showUnseen(text.slice(from, index)), <LinkText words={url} url={url} />);
    from = index + url.length;
  }
  parts.push(showUnseen(text.slice(from)));
  return parts;
}
