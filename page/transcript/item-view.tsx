// Shows one entry of a transcript. All words of models, tools and people are text, with unseen
// characters named.
import { showUnseen } from '../../system/text.ts';
import type {
  BoundaryEntry,
  Entry,
  EpochEntry,
  ReplyEntry,
  SessionInfo,
  Outcome,
  Item,
  ReplyItem,
  CompactionTrigger,
  RunEnded,
  Hash,
} from '../../client/faces/types.ts';
import {
  budgetText,
  isRepeated,
  epochText,
  isOrdinary,
  noticeText,
  transitionText,
  contextText,
  outcomeText,
  searchBlockLine,
  terminalDetail,
  SHOWN,
  isUntimed,
} from '../../client/faces/words.ts';
import { isReply } from '../../client/faces/turns.ts';
import { steeringText } from '../../client/faces/options.ts';
import { joinSystemPrompt } from '../../client/faces/reading.ts';
import { totalTokens } from '../../client/faces/contract.ts';
import { formatCount, formatMoney, formatTokens, shortTime } from '../../client/faces/basics.ts';
import { CallCard, type Progress, type ShownCall, callId, placeOf } from './call-card.tsx';
import { ForkFromHere } from '../session/fork-from-here.tsx';
import { MarkdownText } from '../text/markdown-view.tsx';
import { TimedText } from '../figures.tsx';
import { Moment, htmlOf } from '../layout.tsx';
import { FoldedText, MarkdownSaid, MediaList, SpokenText } from './said.tsx';
import { transitionMeaning } from './meanings.ts';
import { Icon } from '../primitives.tsx';

export type ItemContext = {
  readonly session: string;
  /** Position of the first prompt: nothing was before it. */
  readonly first?: number;
  /** Address of the page that shows it, when that is not the session's own. */
  readonly base?: string;
  /** Returns the session of an agent by the anchor of its call. */
  readonly agent?: (anchor: string) => SessionInfo | undefined;
  readonly bodies: ReadonlyMap<Hash, string>;
  /** Says what the capture of files at a position has found (T5). */
  readonly filesLines?: (position: number) => readonly string[];
  /** Returns the progress of a call whose outcome is not stored, by its anchor. */
  readonly progress: (anchor: string) => Progress | undefined;
};

export const itemId = (position: number): string => `e${position}`;

/** Outcomes have no element, since they are shown at their calls. */
export function isDrawn({ entry }: Item): boolean {
  return entry.kind !== 'outcomes' && !(entry.kind === 'transition' && isOrdinary(entry.reason));
}

export function ItemView({ item, context }: { readonly item: Item; readonly context: ItemContext }) {
  return (
    <li id={itemId(item.position)} class={`item ${item.entry.kind}`}>
      {isReply(item) ? <ReplyArticle item={item} context={context} /> : <PlainItem item={item} context={context} />}
    </li>
  );
}

function PlainItem({
  item: { entry, run, position },
  context,
}: {
  readonly item: Item;
  readonly context: ItemContext;
}) {
  switch (entry.kind) {
    case 'run_started':
      return (
        <h2 class="run" id={`run-${run}`}>
          <a href={`?at=e${position}#run-${run}`}>{`Run ${run}`}</a> <Moment at={entry.at} />
        </h2>
      );
    case 'user':
      return (
        <>
          <SpokenText who="user" text={userText(entry, context)} whole={`${entryPath(context, position)}/text`} />
          {position !== context.first && context.base === undefined ? <ForkFromHere position={position} /> : null}
          {entry.by === undefined ? null : <small class="sender">{`from ${showUnseen(entry.by.slice(0, 100))}`}</small>}
          {context.base !== undefined ? null : context.first === position ? (
            <button
              type="button"
              class="plain rewind-here"
              data-needs="steer"
              hx-post={`/sessions/${context.session}/again`}
              hx-target="#said"
            >
              Run again
            </button>
          ) : (
            <button
              type="button"
              class="plain rewind-here"
              data-needs="steer"
              data-rewind={entry.id}
              aria-haspopup="dialog"
            >
              Rewind to here
            </button>
          )}
          <MediaList media={entry.body.media ?? []} path={`${entryPath(context, position)}/media`} />
        </>
      );
    case 'boundary':
      return <BoundaryItem entry={entry} />;
    case 'collapse_staged':
      return <FoldedText line={contextText(entry, '')} text={entry.short} />;
    case 'microcompact':
    case 'collapse_committed':
    case 'snip':
      return <p class="mark">{contextText(entry, 'it is above')}</p>;
    case 'epoch':
      return <EpochItem entry={entry} />;
    case 'budget':
      return <p class="mark">{showUnseen(budgetText(entry))}</p>;
    case 'steered':
      return (
        <p class="mark">
          <TimedText text={steeringText(entry.steered)} />
        </p>
      );
    case 'notice':
      return <NoticeItem entry={entry} />;
    case 'transition':
      return <TransitionItem reason={entry.reason} />;
    case 'run_ended':
      return <RunEndLine end={entry.ended} />;
    case 'files':
      return <FilesItem lines={context.filesLines?.(position) ?? []} position={position} context={context} />;
    case 'session_closed':
      return <p class="mark">Session closed</p>;
    case 'reply':
    case 'outcomes':
    case 'wait':
    case 'settled':
      return null;
  }
}

type FilesItemProps = {
  readonly lines: readonly string[];
  readonly position: number;
  readonly context: ItemContext;
};

/** Says what a capture of files has found, which leads to the changes. */
function FilesItem({ lines, position, context: { session, base } }: FilesItemProps) {
  if (lines.length === 0) return null;
  const text = showUnseen(lines.join('; '));
  return (
    <p class="mark">
      {base === undefined ? <a href={`/sessions/${session}/files?capture=${position}`}>{text}</a> : text}
    </p>
  );
}

/** Shows, folded, what the model is sent before all messages. */
function EpochItem({ entry }: { readonly entry: EpochEntry }) {
  const line = epochText(entry) ?? 'system prompt and tools';
  return (
    <FoldedText
      line={line}
      text={`${joinSystemPrompt(entry.system)}\n\n${entry.tools.map(({ name }) => name).join(', ')}`}
    />
  );
}

const entryPath = ({ session, base = `/sessions/${session}` }: ItemContext, position: number): string =>
  `${base}/entries/${position}`;

function userText(entry: Extract<Entry, { kind: 'user' }>, { bodies }: ItemContext): string {
  const text = entry.body.kind === 'text' ? entry.body.text : bodies.get(entry.body.hash);
  return text ?? '(its text cannot be read)';
}

const COMPACTED: Readonly<Record<CompactionTrigger, string>> = {
  auto: 'Compacted',
  reactive: 'Prompt too long · compacted',
  manual: 'Compacted on request',
};

function BoundaryItem({ entry }: { readonly entry: BoundaryEntry }) {
  const { before, after, from, prompts, summary, trigger } = entry;
  const line = `${COMPACTED[trigger]}, about ${before.toLocaleString('en')} → ${formatTokens(after)}`;
  return (
    <details class="mark seam">
      <summary>
        <span>{line}</span>
      </summary>
      <p>
        {'The model now sees this summary and everything from '}
        <a href={`?at=e${from}#${itemId(from)}`}>{`entry ${from}`}</a>
        {prompts.length > 0 ? `, with ${formatCount(prompts.length, 'prompt')} from before it word for word.` : ' on.'}
        {' What it replaced is kept above.'}
      </p>
      <div class="said prose">
        <MarkdownText text={summary.slice(0, SHOWN)} />
      </div>
    </details>
  );
}

const LONG = 160;

function NoticeItem({ entry: { notice } }: { readonly entry: Extract<Entry, { kind: 'notice' }> }) {
  const line = noticeText(notice);
  const kind = notice.kind === 'error' || notice.kind === 'hook_failed' ? 'mark bad' : 'mark';
  const text = 'text' in notice ? notice.text : line;
  if (line.length <= LONG && text.length <= LONG) return <p class={kind}>{line}</p>;
  return <FoldedText line={line.slice(0, LONG)} text={text} kind={kind} />;
}

function TransitionItem({ reason }: { readonly reason: Extract<Entry, { kind: 'transition' }>['reason'] }) {
  return (
    <p class="transition">
      <span class="badge" title={transitionMeaning(reason)}>
        {transitionText(reason)}
      </span>
    </p>
  );
}

function RunEndLine({ end }: { readonly end: RunEnded }) {
  const { terminal, turns, spend, durationMs, run, at: moment } = end;
  const words = outcomeText({
    reason: terminal.reason,
    detail: terminalDetail(terminal),
    turns,
    costUsd: spend.usd,
    durationMs,
  });
  return (
    <p class={`ended ${terminal.reason === 'completed' ? 'good' : 'bad'}`}>
      {`Run ${run}: ${words} · ${formatTokens(totalTokens(spend.usage))} `}
      <Moment at={moment} />
    </p>
  );
}

function ReplyArticle({ item, context }: { readonly item: ReplyItem; readonly context: ItemContext }) {
  const { entry, anchor } = item;
  return (
    <article id={`it-${anchor}`}>
      <ReplyHead entry={entry} anchor={anchor} />
      {blockGroups(item).map((group) =>
        group.length > 1 ? (
          <FoldedReads calls={group.flatMap((index) => callToShow(item, index, context) ?? [])} />
        ) : (
          <ReplyBlock item={item} index={group[0] ?? 0} context={context} />
        ),
      )}
      {entry.fate === 'whole' ? null : <p class="mark">{`the reply was ${entry.fate}`}</p>}
    </article>
  );
}

type BlockProps = { readonly item: ReplyItem; readonly index: number; readonly context: ItemContext };

function ReplyBlock({ item, index, context }: BlockProps) {
  const block = item.entry.message.content[index];
  if (block === undefined) return null;
  switch (block.type) {
    case 'text':
      return block.text.trim() === '' ? null : (
        <MarkdownSaid text={block.text} whole={`${entryPath(context, item.position)}/${index}`} />
      );
    case 'thinking':
      return <FoldedText line="Thinking" text={block.thinking} kind="thinking" />;
    case 'redacted_thinking':
      return <p class="mark">Thinking withheld by the provider</p>;
    case 'tool_use':
      return <CallCard call={callOf(item, index, block, context)} />;
    case 'server_tool_use':
    case 'web_search_tool_result':
      return <p class="mark">{searchBlockLine(block) ?? block.type}</p>;
    default:
      return <FoldedText line={block.type} text={JSON.stringify(block, null, 2)} />;
  }
}

/** Puts the blocks of a reply into groups: reads that ended well and follow each other are one. */
function blockGroups(item: ReplyItem): readonly (readonly number[])[] {
  const groups: number[][] = [];
  for (const [index, block] of item.entry.message.content.entries()) {
    const last = groups.at(-1);
    const folds = block.type === 'tool_use' && isFoldedRead(block.name, item.outcomes.get(index));
    if (folds && last && last.every((each) => isReadAt(item, each))) last.push(index);
    else groups.push([index]);
  }
  return groups;
}

function isReadAt({ entry, outcomes }: ReplyItem, index: number): boolean {
  const block = entry.message.content[index];
  return block?.type === 'tool_use' && isFoldedRead(block.name, outcomes.get(index));
}

function callToShow(item: ReplyItem, index: number, context: ItemContext): ShownCall | null {
  const block = item.entry.message.content[index];
  return block?.type === 'tool_use' ? callOf(item, index, block, context) : null;
}

function ReplyHead({ entry, anchor }: { readonly entry: ReplyEntry; readonly anchor: string }) {
  const { spend, message, iteration, attempt } = entry;
  const { input, output, cacheRead, cacheWrite } = spend.usage;
  const detail = `${formatTokens(input + cacheWrite + cacheRead)} in (${cacheRead.toLocaleString('en')} from the cache), ${output.toLocaleString('en')} out`;
  return (
    <p class="head">
      <a href={`?at=${placeOf(anchor)}#it-${anchor}`}>{`#${iteration}`}</a>{' '}
      <span>{showUnseen(message.model.slice(0, 80))}</span>
      <span title={detail}>{`${formatTokens(totalTokens(spend.usage))} · ${formatMoney(spend.usd)}`}</span>
      {attempt > 1 ? <span class="warn">{`attempt ${attempt}`}</span> : null}
      <Moment at={entry.at} />
    </p>
  );
}

type Block = { readonly name: string; readonly input: unknown };

function callOf(item: ReplyItem, index: number, { name, input }: Block, context: ItemContext) {
  const outcome = item.outcomes.get(index) ?? null;
  const anchor = `${item.anchor}-${index}`;
  const more = outcome !== null && (outcome.whole !== undefined || outcome.content.length > SHOWN);
  return {
    anchor,
    name,
    input,
    outcome,
    progress: outcome ? undefined : context.progress(anchor),
    agent: context.agent?.(anchor),
    repeated: isRepeated(item.entry, index),
    path: `${entryPath(context, item.position)}/${index}`,
    isMore: more,
  };
}

/** Draws a call's card as it stands now; null when the reply has no such call. */
export function cardOf(
  item: ReplyItem,
  index: number,
  context: ItemContext,
): { readonly id: string; readonly html: string } | null {
  const block = item.entry.message.content[index];
  if (block?.type !== 'tool_use') return null;
  const call = callOf(item, index, block, context);
  return { id: callId(call.anchor), html: htmlOf(<CallCard call={call} />) };
}

const FOLDED_WORDS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  read: ['read', 'reads'],
  grep: ['search', 'searches'],
  glob: ['listing', 'listings'],
};

/** Calls that a person allowed, and ones that failed, are never folded. */
function isFoldedRead(tool: string, outcome: Outcome | undefined): boolean {
  return (
    Object.hasOwn(FOLDED_WORDS, tool) && outcome !== undefined && !outcome.isError && outcome.log.approved === undefined
  );
}

/** Names on the row. */
const MOST_NAMED = 6;

function FoldedReads({ calls }: { readonly calls: readonly ShownCall[] }) {
  const times = calls.flatMap(({ outcome }) => (outcome && !isUntimed(outcome.log) ? [outcome.log.duration] : []));
  const names = calls.map(({ input }) => subjectOf(input)).filter((name) => name !== '');
  return (
    <details class="call fold" id={`fold-${calls[0]?.anchor}`}>
      <summary>
        <Icon name="read" />
        <b class="tool">{countWords(calls)}</b>
        <span class="what">{`${names.slice(0, MOST_NAMED).join(', ')}${names.length > MOST_NAMED ? ', …' : ''}`}</span>
        <span class="state">{times.length === 0 ? '' : shortTime(Math.max(...times))}</span>
      </summary>
      <div class="body">
        {calls.map((call) => (
          <CallCard call={call} />
        ))}
      </div>
    </details>
  );
}

function countWords(calls: readonly ShownCall[]): string {
  const counts = new Map<string, number>();
  for (const { name } of calls) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, n]) => `${n} ${FOLDED_WORDS[name]?.[n === 1 ? 0 : 1] ?? name}`).join(', ');
}

function subjectOf(input: unknown): string {
  const { path, file_path: file, pattern } = (input ?? {}) as Readonly<Record<string, unknown>>;
  const subject = [path, file].find((one) => typeof one === 'string') ?? pattern;
  const words = typeof pattern === 'string' ? `“${pattern}”` : subject;
  return typeof words === 'string' ? showUnseen(words.slice(0, 80)) : '';
}
