// Shows one tool call: folded to a line with how it came out; open with its input, output and
// duration.
import { showUnseen } from '../../system/text.ts';
import type { Outcome, SessionInfo } from '../../client/faces/types.ts';
import {
  isUntimed,
  changeOf,
  SHOWN,
  briefInput,
  NAME,
  approvalWords,
  endWord,
  REPEATED,
} from '../../client/faces/words.ts';
import { AGENT_TOOL } from '../../client/faces/contract.ts';
import { formatCount, formatMoney, shortTime } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import { agentStateOf, type SessionState, type StateTone } from '../fleet/session-state.ts';
import { TimedText } from '../figures.tsx';
import { Icon, type IconName } from '../primitives.tsx';
import { CallInput, changeCounts, CountWords } from './call-input.tsx';
import { MediaList } from './said.tsx';

/** Progress of a call from the live channel, until its outcome is stored. */
export type Progress =
  | { readonly kind: 'running'; readonly said: string }
  | { readonly kind: 'waiting' }
  | {
      readonly kind: 'ended';
      readonly isError: boolean;
      readonly content: string;
      readonly durationMs: number | null;
    };

export type ShownCall = {
  /** Name in links: `run-iteration-index`. */
  readonly anchor: string;
  readonly name: string;
  readonly input: unknown;
  readonly outcome: Outcome | null;
  readonly progress?: Progress | undefined;
  /** The session of the agent that the call began. */
  readonly agent?: SessionInfo | undefined;
  readonly repeated?: boolean;
  /** Address of its whole output and of its images, once they are stored. */
  readonly path?: string;
  /** Part of its output is hidden here. */
  readonly isMore?: boolean;
};

export const callId = (anchor: string): string => `call-${anchor}`;

/** The place in an address of a reply, or of one of its calls: `2.17` of `2-17-0`. */
export function placeOf(anchor: string): string {
  return anchor.split('-').slice(0, 2).join('.');
}

const ICONS: Readonly<Record<string, IconName>> = {
  agent: 'agent',
  ask_user: 'question',
  bash: 'shell',
  edit: 'edit',
  write: 'edit',
  read: 'read',
  grep: 'search',
  glob: 'search',
  web_fetch: 'web',
};

/** Most characters of an output that is shown without being asked for. */
const SHORT = 2_000;

/**
 * A change, and the output of a command that failed, stand open in place; what waits for a person
 * is shown where it is decided.
 */
function isOpenAtOnce(call: ShownCall, state: State): boolean {
  if (changeOf(call.name, call.input)) return state.kind === 'ok' || state.kind === 'open';
  return call.name === 'bash' && state.kind === 'bad' && (state.output ?? '').length <= SHORT;
}

export function CallCard({ call }: { readonly call: ShownCall }) {
  const state = stateOf(call);
  const change = changeOf(call.name, call.input);
  return (
    <details class={`call ${state.kind}`} id={callId(call.anchor)} open={isOpenAtOnce(call, state)}>
      <summary>
        <Icon name={ICONS[call.name] ?? 'tool'} />
        <b class="tool">{showUnseen(call.name.slice(0, 80))}</b>
        <span class="what">
          {summaryOf(call)}
          {change && state.kind !== 'bad' ? <CountWords {...changeCounts(change)} /> : null}
        </span>
        <span class={`state ${state.kind}`}>
          <TimedText text={state.words} />
        </span>
      </summary>
      <div class="body">
        <CallInput name={call.name} input={call.input} />
        {state.output === null || (change && state.kind === 'ok') ? null : (
          <Output text={state.output} bad={state.kind === 'bad'} whole={call.isMore ? call.path : undefined} />
        )}
        {call.path === undefined ? null : <MediaList media={call.outcome?.media ?? []} path={`${call.path}/media`} />}
        {state.said === '' ? null : <pre class="output">{showUnseen(state.said)}</pre>}
        <p class="links">
          {call.agent ? <a href={`/sessions/${call.agent.session}`}>Agent session</a> : null}
          <a href={`?at=${placeOf(call.anchor)}#${callId(call.anchor)}`}>Link to this call</a>
        </p>
      </div>
    </details>
  );
}

/** Says on the row what a call is about: a command, a path, the task of an agent. */
function summaryOf({ name, input }: ShownCall): string {
  const { description } = (typeof input === 'object' && input !== null ? input : {}) as {
    readonly description?: unknown;
  };
  if (name === AGENT_TOOL && typeof description === 'string') return showUnseen(description.slice(0, 200));
  const change = changeOf(name, input);
  return change ? showUnseen(change.path.slice(0, 200)) : briefInput(input);
}

/** Says an agent's turns, cost and state, which its parent's transcript lacks until it ends. */
function agentWords({ facts, startedAt, closedAt }: SessionInfo, { word, tone }: SessionState): string {
  const counts = facts
    ? [formatCount(facts.turns, 'turn'), formatMoney(facts.cents === null ? null : facts.cents / 100)]
    : [];
  const time = closedAt === null ? [] : [shortTime(closedAt - startedAt)];
  return [...(tone === 'ok' ? [] : [word]), ...counts, ...time].join(' · ');
}

const TONES: Readonly<Record<StateTone, State['kind']>> = {
  ok: 'ok',
  fail: 'bad',
  wait: 'waiting',
  run: 'running',
  park: 'running',
  idle: 'open',
};

/** Characters of a reason on the row of a call. */
const MOST_REASON = 80;

/** Says on the row why a call did not run, or that it failed; nothing of one that did well. */
function failureWords(outcome: Outcome): readonly string[] {
  const how = endWord(outcome.log);
  if (how === 'denied')
    return [outcome.log.deniedBy === undefined ? how : `denied by ${oneLine(outcome.log.deniedBy, NAME)}`];
  if (how === 'not run') {
    const reason = oneLine(outcome.content.replace(/^not run\W*/i, '').split('\n', 1)[0] ?? '', MOST_REASON);
    return [reason === '' ? how : `${how}: ${reason}`];
  }
  return how === null ? (outcome.isError ? ['failed'] : []) : [how];
}

type State = {
  readonly kind: 'ok' | 'bad' | 'running' | 'waiting' | 'open';
  readonly words: string;
  readonly output: string | null;
  readonly said: string;
};

function stateOf({ outcome, progress, repeated, agent }: ShownCall): State {
  if (agent && (!outcome || !outcome.isError)) {
    const state = agentStateOf(agent, Date.now());
    return { kind: TONES[state.tone], words: agentWords(agent, state), output: outcome?.content ?? null, said: '' };
  }
  if (outcome) {
    const { log, isError, content } = outcome;
    const time = isUntimed(log) ? [] : [shortTime(log.duration)];
    const words = [...failureWords(outcome), ...approvalWords(log), ...time];
    return { kind: isError ? 'bad' : 'ok', words: words.join(' · '), output: content, said: '' };
  }
  if (repeated) return { kind: 'open', words: REPEATED, output: null, said: '' };
  switch (progress?.kind) {
    case 'ended': {
      const time = progress.durationMs === null ? [] : [shortTime(progress.durationMs)];
      const words = [...(progress.isError ? ['failed'] : []), ...time].join(' · ');
      return { kind: progress.isError ? 'bad' : 'ok', words, output: progress.content, said: '' };
    }
    case 'running':
      return { kind: 'running', words: 'running', output: null, said: progress.said };
    case 'waiting':
      return { kind: 'waiting', words: 'waits for a decision', output: null, said: '' };
    case undefined:
      return { kind: 'open', words: 'no outcome yet', output: null, said: '' };
  }
}

function Output({
  text,
  bad,
  whole,
}: {
  readonly text: string;
  readonly bad: boolean;
  readonly whole?: string | undefined;
}) {
  const more = text.length > SHOWN;
  return (
    <>
      <pre class={bad ? 'output bad' : 'output'} tabindex={0} aria-label="Output">
        {showUnseen(text.slice(0, SHOWN)) || '(no output)'}
      </pre>
      {more || whole !== undefined ? (
        <p class="links">
          {more ? `${formatCount(text.length - SHOWN, 'more character')}. ` : ''}
          {whole === undefined ? null : <a href={whole}>Full output as text</a>}
        </p>
      ) : null}
    </>
  );
}
