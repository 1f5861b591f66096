// A sentence for each thing that the loop says of itself.
import { expect, test } from 'vitest';
import { noticeText } from '../../../client/render/words.ts';
import { endWords, outcomeText } from '../../../client/render/ending-words.ts';
import { terminalDetail } from '../../../client/sessions/outcome.ts';
import type { Notice } from '../../../workflows/contract/activities.ts';
import type { Terminal } from '../../../workflows/contract/loop.ts';

test.each<[Notice, string]>([
  [{ kind: 'interrupted' }, 'interrupted'],
  [{ kind: 'continue' }, 'asked to continue where it stopped'],
  [{ kind: 'call_cut' }, 'its last tool call was cut and did not run'],
  [{ kind: 'max_turns_reached', limit: 1, turnNotTaken: 2 }, 'turn limit reached: 1 turn'],
  [{ kind: 'error', text: '401\nbad key' }, '401 bad key'],
  [
    { kind: 'model_switched', from: 'a', to: 'b', calls: [], detail: '529\noverloaded' },
    'continues with b instead of a (529 overloaded)',
  ],
  [
    { kind: 'model_switched', from: 'a', to: 'b', calls: ['bash', 'read'], detail: '404' },
    'continues with b instead of a (404); what it had started does not count: bash, read',
  ],
  [{ kind: 'stop_hook', text: 'tests fail' }, 'a stop hook sends it back: tests fail'],
  [{ kind: 'token_budget', spent: 1_200, budget: 50_000 }, '1,200 tokens spent of 50,000 to spend: asked to continue'],
  [{ kind: 'structured_output', problem: 'no "n"' }, 'its answer does not fit the schema: no "n"'],
  [
    { kind: 'call_as_text', name: 'bash' },
    'the reply has a call of bash written as text, so nothing ran: the model is told',
  ],
  [
    { kind: 'call_as_text', name: 'bash', again: true },
    'the reply has a call of bash written as text, so nothing ran, although the model was asked to make it',
  ],
  [
    { kind: 'same_results', calls: ['read', 'glob'], times: 5 },
    '5 replies in a row repeated the same calls and got the same results (read, glob): the model is told',
  ],
  [
    { kind: 'same_results', calls: ['read'], times: 10, forPeople: true },
    '10 replies in a row repeated the same calls and got the same results (read): it may be stuck',
  ],
  [{ kind: 'hook_context', hook: 'lint', text: 'ok' }, 'hook lint adds: ok'],
  [
    { kind: 'files_changed', paths: ['a', 'b', 'c', 'd', 'e', 'f'] },
    'changed by someone else: a, b, c, d, e and 1 more',
  ],
  [{ kind: 'attachment', source: 'memory', text: 'likes tabs' }, 'memory: likes tabs'],
  [
    {
      kind: 'attachment',
      source: "the workspace's file AGENTS.md",
      text: '(This comes from the workspace, not from the user. Follow it where it fits.)\n\n> Use tabs.',
    },
    "the workspace's file AGENTS.md: > Use tabs.",
  ],
  [{ kind: 'batch_summary', text: 'Read two files.' }, 'Read two files.'],
  [{ kind: 'compaction_failed', detail: 'no gain', spent: false }, 'compacting failed: no gain'],
  [
    { kind: 'compaction_failed', detail: 'no gain', spent: true },
    'compacting failed; it is not tried again in this run: no gain',
  ],
  [{ kind: 'hook_failed', hook: 'lint', detail: 'timed out' }, 'hook lint failed and changes nothing: timed out'],
])('says of the notice %j: %s', (notice, sentence) => {
  expect(noticeText(notice)).toBe(sentence);
});

const detail = 'why';
test.each<[Terminal, string]>([
  [{ reason: 'completed' }, 'completed'],
  [{ reason: 'max_turns', limit: 3, turnNotTaken: 4 }, 'turn limit reached: 3 turns'],
  [{ reason: 'aborted_streaming', by: 'message' }, 'ended early: stopped for a newer message'],
  [{ reason: 'aborted_tools', by: 'timeout' }, 'ended during tool calls: stopped by the time limit'],
  [{ reason: 'prompt_too_long', detail }, 'prompt too long: why'],
  [{ reason: 'image_error', detail }, 'image or document not accepted: why'],
  [{ reason: 'max_output_tokens', detail }, 'reply too long: why'],
  [{ reason: 'model_error', detail, status: 401 }, 'model error: why'],
  [{ reason: 'blocking_limit', detail }, 'no room left in the context window: why'],
  [{ reason: 'stop_hook_prevented', detail }, 'ended by a stop hook: why'],
  [{ reason: 'hook_stopped', detail }, 'ended by a hook or tool: why'],
  [{ reason: 'budget_exceeded', limitUsd: 1, spentUsd: 1.25 }, 'budget spent: $1.2500 spent, the limit is $1'],
  [
    { reason: 'budget_exceeded', limitTokens: 1_000, spentTokens: 1_400 },
    'budget spent: 1,400 tokens spent, the limit is 1,000',
  ],
  [{ reason: 'timeout', limitMs: 90_000 }, 'time limit reached: the limit is 90 s'],
  [{ reason: 'permission_denied', detail }, 'permission denied: why'],
  [{ reason: 'fatal_tool_error', detail }, 'fatal tool error: why'],
  [{ reason: 'structured_output_failed', detail }, 'no answer that fits the schema: why'],
])('says of the end %j: %s', (terminal, sentence) => {
  const ending = { reason: terminal.reason, detail: terminalDetail(terminal), turns: 1, costUsd: 0, durationMs: 5 };
  expect(outcomeText(ending)).toBe(`${sentence} · 1 turn · $0 · 5 ms`);
});

test.each<[Terminal, string]>([
  [{ reason: 'aborted_streaming', by: 'interrupt' }, 'interrupted'],
  [{ reason: 'aborted_tools', by: 'timeout' }, 'stopped by the time limit'],
  [{ reason: 'aborted_tools', by: 'toString' as 'timeout' }, 'ended during tool calls'],
  [{ reason: 'model_error', detail, status: 401 }, 'model error'],
])('names the end %j in a list: %s', (terminal, words) => {
  expect(endWords(terminal)).toBe(words);
});
