// Builders for transcripts: the smallest entries that mean what their names say.
import type { ContentBlock, Message } from '@anthropic-ai/sdk/resources/messages';
import { hashOf, type Store } from '../../store/values/store.ts';
import type { Entry, Outcome, ReplyEntry } from '../../store/log/entries.ts';
import type { FilesEntry, RootSnapshot } from '../../store/snapshots/files-entry.ts';
import { nextSegment } from '../../store/view/append.ts';
import { emptyView, type View } from '../../store/view/view.ts';
import type { Notice } from '../../workflows/contract/activities.ts';
import type { Hash, MessageId, SessionId } from '../../workflows/contract/ids.ts';
import { noSpend, type Terminal, type TransitionReason } from '../../workflows/contract/loop.ts';

export const session = 's-1' as SessionId;

export const textBlock = (text: string): ContentBlock => ({ type: 'text', text, citations: null });

export const thinkingBlock = (thinking: string, signature = 'signed'): ContentBlock => ({
  type: 'thinking',
  thinking,
  signature,
});

export const callBlock = (id: string, input: unknown = {}, name = 'read'): ContentBlock => ({
  type: 'tool_use',
  id,
  name,
  input,
  caller: { type: 'direct' },
});

export function reply(content: ContentBlock[], changes: Partial<ReplyEntry> = {}): ReplyEntry {
  const usage = { input_tokens: 1, output_tokens: 1 } as Message['usage'];
  const message: Message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-test',
    content,
    container: null,
    diagnostics: null,
    stop_details: null,
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage,
  };
  return { kind: 'reply', fate: 'whole', message, iteration: 1, attempt: 1, spend: noSpend, at: 0, ...changes };
}

export function outcome(index: number, content: string, changes: Partial<Outcome> = {}): Outcome {
  const log = { key: null, name: 'read', decision: 'allowed', duration: 1, outcome: 'ok' } as const;
  return { index, toolUseId: `call-${index}`, isError: false, content, log, ...changes };
}

export const outcomes = (...list: Outcome[]): Entry => ({ kind: 'outcomes', outcomes: list });

export const user = (text: string): Entry => ({
  kind: 'user',
  id: `m-${text.slice(0, 20)}` as MessageId,
  body: { kind: 'text', text },
});

export const notice = (value: Notice): Entry => ({ kind: 'notice', notice: value });

export const transition = (iteration: number, reason: TransitionReason): Entry => ({
  kind: 'transition',
  iteration,
  reason,
});

export const runStarted = (run: number, config: Hash = hashOf(Buffer.from('config'))): Entry => ({
  kind: 'run_started',
  run,
  config,
  at: 0,
});

export function runEnded(run: number, terminal: Terminal = { reason: 'completed' }): Entry {
  return {
    kind: 'run_ended',
    ended: { run, terminal, turns: 2, iterations: 3, messages: [], spend: noSpend, durationMs: 5, at: 9 },
  };
}

export const boundary = (summary: string, from: number, prompts: readonly number[] = []): Entry => ({
  kind: 'boundary',
  trigger: 'auto',
  summary,
  prompts,
  from,
  before: 100,
  after: 10,
});

export const snip = (...entries: number[]): Entry => ({ kind: 'snip', entries });

/** Stages the entries from `from` up to but not including `to`, and commits all that is staged. */
export const collapsed = (from: number, to: number, short: string): Entry[] => [
  { kind: 'collapse_staged', from, to, short },
  { kind: 'collapse_committed', count: 1 },
];

/** Stores `entries` after `view` and returns the view that has them. */
export async function appendSegment(store: Store, view: View, entries: readonly Entry[]): Promise<View> {
  const next = nextSegment(view, entries);
  await store.put(next.bytes);
  return next.view;
}

/** One segment for each of `segments`. */
export async function stored(store: Store, ...segments: (readonly Entry[])[]): Promise<View> {
  let view = emptyView(session);
  for (const entries of segments) view = await appendSegment(store, view, entries);
  return view;
}

/** A capture of a folder in which nothing has changed. */
export const files = (root: string, changes: Partial<RootSnapshot> = {}): FilesEntry => ({
  kind: 'files',
  at: 1,
  roots: [
    {
      root,
      id: 'a'.repeat(40),
      parent: null,
      files: 1,
      bytes: 0,
      added: 0,
      changed: 0,
      deleted: 0,
      insertions: 0,
      deletions: 0,
      names: [],
      ...changes,
    },
  ],
});
