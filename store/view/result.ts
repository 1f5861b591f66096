// Reads the result of a run from its entries alone, for the result of a query, for `show` and for
// the page.
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { Terminal, TerminalReason, TransitionReason, Usage } from '../../workflows/contract/loop.ts';
import type { AgentSpent } from '../../workflows/contract/delegation.ts';
import type { MessageId } from '../../workflows/contract/ids.ts';
import type { Entry, ReplyEntry } from '../log/entries.ts';
import type { View } from './view.ts';

export type RunResult = {
  readonly run: number;
  readonly reason: TerminalReason;
  readonly terminal: Terminal;
  readonly turns: number;
  readonly iterations: number;
  /** All of them, oldest first (L3). */
  readonly transitions: readonly { readonly iteration: number; readonly reason: TransitionReason }[];
  /** The last reply's text; the pieces of a reply that was cut and continued are joined (L27). */
  readonly text: string;
  readonly messages: readonly MessageId[];
  readonly usage: Usage;
  /** US dollars; null when a price is not known. */
  readonly costUsd: number | null;
  /**
   * Its agents that have ended, with what each took, which is in `usage` and `costUsd`; absent
   * without any (L69).
   */
  readonly agents?: readonly AgentSpent[];
  readonly durationMs: number;
};

/** Null when the run has not ended in this view, or is not in it. */
export function resultOf(view: Pick<View, 'entries'>, run: number): RunResult | null {
  const entries = entriesOf(view.entries, run);
  const last = entries.at(-1);
  if (last?.kind !== 'run_ended') return null;
  const { terminal, turns, iterations, messages, spend, agents, durationMs } = last.ended;
  return {
    run,
    reason: terminal.reason,
    terminal,
    turns,
    iterations,
    transitions: entries.flatMap((entry) =>
      entry.kind === 'transition' ? [{ iteration: entry.iteration, reason: entry.reason }] : [],
    ),
    text: finalText(entries),
    messages,
    usage: spend.usage,
    costUsd: spend.usd,
    ...(agents && { agents }),
    durationMs,
  };
}

/**
 * Returns the entries after the run before it, up to its own `run_ended`; empty when it has not
 * ended.
 */
function entriesOf(entries: readonly Entry[], run: number): readonly Entry[] {
  const end = entries.findLastIndex((entry) => entry.kind === 'run_ended' && entry.ended.run === run);
  const before = entries.slice(0, Math.max(0, end)).findLastIndex((entry) => entry.kind === 'run_ended');
  return entries.slice(before + 1, end + 1);
}

// The answer of a run so far: the one text that an output schema is held against, that stop hooks
// see and that is its result.

/** A view of a transcript, or the entries of a run. */
type Entries = { readonly length: number; at(position: number): Entry | undefined };

/**
 * Joins the last reply with the pieces before it that it continues (L27). Reads no further back
 * than the first of them.
 */
export function finalText(entries: Entries): string {
  return finalPieces(entries)
    .map((position) => messageText((entries.at(position) as ReplyEntry).message))
    .join('');
}

/** Their positions, oldest first. */
export function finalPieces(entries: Entries): readonly number[] {
  const pieces: number[] = [];
  let continued: boolean | null = true;
  for (let position = entries.length - 1; position >= 0 && continued !== false; position -= 1) {
    const entry = entries.at(position);
    if (entry?.kind === 'reply') {
      if (continued === null) break;
      pieces.unshift(position);
      continued = null;
    } else if (entry) {
      continued ??= continues(entry);
    }
  }
  return pieces;
}

/** The same request made again in another way: what it continues, it still does. */
const retries: ReadonlySet<TransitionReason> = new Set<TransitionReason>([
  'collapse_drain_retry',
  'reactive_compact_retry',
  'max_output_tokens_escalate',
  'model_fallback',
]);

/**
 * Whether what comes after this entry continues the reply before it; null where an earlier entry
 * says.
 */
function continues(entry: Entry): boolean | null {
  switch (entry.kind) {
    case 'run_started':
      return false;
    case 'notice':
      // A summing-up of the run continues nothing (L51).
      return entry.notice.kind === 'wrap_up' ? false : null;
    case 'transition':
      return retries.has(entry.reason) ? null : entry.reason === 'max_output_tokens_recovery';
    default:
      return null;
  }
}

// The JSON value in a final answer (L53): the whole text, or its one fenced block.

type StructuredOutput =
  | { readonly kind: 'value'; readonly value: unknown }
  /** A sentence for the model: why there is none. */
  | { readonly kind: 'none'; readonly problem: string };

/**
 * A line that may begin a block, and one that ends it. JSON has no line that begins with a
 * backtick.
 */
const OPENS = /^[ \t]*```(?:json)?[ \t]*\r?$/i;
const CLOSES = /^[ \t]*```[ \t]*\r?$/;

export function structuredOutput(text: string): StructuredOutput {
  const whole = text.trim();
  if (whole === '') return none('it has no text');
  const plain = parsed(whole);
  if (plain.kind === 'value') return plain;
  const blocks = fencedBlocks(whole);
  const [block] = blocks;
  if (block === undefined) return plain;
  return blocks.length === 1 ? parsed(block) : none(`it has ${blocks.length} fenced blocks, and one is asked for`);
}

/**
 * Line by line: an expression for the whole of it would look for the end of each block up to the
 * end of the text.
 */
function fencedBlocks(text: string): string[] {
  const blocks: string[] = [];
  let open: string[] | null = null;
  for (const line of text.split('\n')) {
    if (open === null) {
      if (OPENS.test(line)) open = [];
    } else if (CLOSES.test(line)) {
      blocks.push(open.join('\n'));
      open = null;
    } else {
      open.push(line);
    }
  }
  return blocks;
}

function parsed(json: string): StructuredOutput {
  try {
    return { kind: 'value', value: JSON.parse(json) as unknown };
  } catch (error) {
    if (error instanceof SyntaxError) return none(`it is not one JSON value: ${error.message}`);
    throw error;
  }
}

function none(problem: string): StructuredOutput {
  return { kind: 'none', problem };
}

// The words of a message, without its calls.

/** Its text blocks, joined as they came. */
export function messageText({ content }: Pick<Message, 'content'>): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}
