// Shows a session's state in a list: a shape, a colour, a word, and its activity in a line. Pure.
import { showUnseen } from '../../system/text.ts';
import type { SessionInfo, QuerySource } from '../../client/faces/types.ts';
import { phaseText, isSilentSession } from '../../client/faces/lists.ts';
import { configurationName } from '../../client/faces/sessions.ts';
import { nowText, reasonText, stopText } from '../../client/faces/words.ts';
import { formatCount } from '../../client/faces/basics.ts';
import type { IconName } from '../primitives.tsx';
import { isBadReason } from './fleet-view.ts';

export type StateTone = 'run' | 'wait' | 'fail' | 'ok' | 'park' | 'idle';

export type SessionState = { readonly icon: IconName; readonly tone: StateTone; readonly word: string };

/** The most urgent first: a parent is shown in the most urgent state of its tree. */
const URGENCY: readonly string[] = ['needs you', 'silent', 'no worker', 'failed', 'parked', 'running'];

export function stateOf(session: SessionInfo, now: number): SessionState {
  const { status, phase, last, needsNewer, facts } = session;
  if (status === 'failed' || status === 'terminated' || status === 'timed_out')
    return { icon: 'failed', tone: 'fail', word: status.replace('_', ' ') };
  const isBad = last !== null && isBadReason(last.terminal.reason);
  if (phase === 'closed')
    return isBad ? { icon: 'failed', tone: 'fail', word: 'failed' } : { icon: 'closed', tone: 'idle', word: 'closed' };
  if (needsNewer) return { icon: 'unplugged', tone: 'wait', word: 'needs a newer perdure' };
  if (phase === 'waiting_worker') return { icon: 'unplugged', tone: 'wait', word: 'no worker' };
  if (phase === 'waiting_approval') return { icon: 'waiting', tone: 'wait', word: 'needs you' };
  if (phase === 'parked') return { icon: 'parked', tone: 'park', word: 'parked' };
  if (phase === 'running')
    return isSilentSession(session, now)
      ? { icon: 'stuck', tone: 'fail', word: 'silent' }
      : { icon: 'running', tone: 'run', word: 'running' };
  if (isBad) return { icon: 'failed', tone: 'fail', word: 'failed' };
  return facts?.agent ? { icon: 'done', tone: 'ok', word: 'done' } : { icon: 'idle', tone: 'idle', word: 'idle' };
}

/** Returns how an agent stands, or how its last run ended, in words for a row of its caller. */
export function agentStateOf(agent: SessionInfo, now: number): SessionState {
  const state = stateOf(agent, now);
  if (agent.phase === 'waiting_approval') return { ...state, word: 'waits for you' };
  if (agent.phase !== 'closed' && agent.phase !== 'idle') return { ...state, word: phaseText(agent) };
  if (state.tone === 'fail') return { ...state, word: endText(agent) || state.word };
  if (agent.last?.terminal.reason === 'completed') return { icon: 'done', tone: 'ok', word: 'completed' };
  return { ...state, word: endText(agent) || phaseText(agent) };
}

/** Returns the most urgent state of a session and of the agents below it. */
export function stateOfTree(own: SessionState, below: readonly SessionState[]): SessionState {
  const rank = ({ word }: SessionState): number => {
    const at = URGENCY.indexOf(word);
    return at < 0 ? URGENCY.length : at;
  };
  // An agent that failed is its parent's to deal with.
  return below
    .filter(({ word }) => word === 'needs you' || word === 'silent' || word === 'no worker')
    .reduce((first, next) => (rank(next) < rank(first) ? next : first), own);
}

const SOURCES: Readonly<Record<QuerySource, string>> = {
  cli: 'from the command line',
  page: 'from this page',
  api: 'over the HTTP API',
  sdk: 'from a program',
  schedule: 'by a schedule',
  agent: 'by an agent',
};

const MOST_DETAIL = 200;

/** Returns what a session does now, or how its last run ended, in a line. */
export function doesNow(session: SessionInfo): string {
  const { phase, approvals = [], configuration, running, facts, waitsFor } = session;
  if (phase === 'waiting_approval') return waitingText(approvals);
  if (phase === 'waiting_worker') {
    if (waitsFor !== undefined) return `waits for host ${showUnseen(waitsFor)}`;
    return configuration === null
      ? 'waits for a worker'
      : `waits for a worker with ${configurationName(configuration)}`;
  }
  if (phase === 'running') return running ? showUnseen(nowText(running)) : '';
  if (phase === 'parked') return showUnseen(phaseText(session));
  const came = facts?.querySource ? [SOURCES[facts.querySource]] : [];
  return [endText(session), ...came].filter((part) => part !== '').join(' · ');
}

function waitingText(approvals: NonNullable<SessionInfo['approvals']>): string {
  const [first] = approvals;
  if (!first) return 'waits for a decision';
  const tool = showUnseen(first.tool.slice(0, 60));
  const what = first.question ? 'asks a question' : `${tool} waits for a decision`;
  const others = approvals.length - 1;
  return `${first.agent ? 'an agent’s ' : ''}${what}${others > 0 ? `, and ${formatCount(others, 'more call')}` : ''}`;
}

function endText({ last, status }: SessionInfo): string {
  if (status === 'terminated' || status === 'failed' || status === 'timed_out') return status.replace('_', ' ');
  if (last === null) return '';
  const stopped = stopText(last.terminal);
  if (stopped !== undefined) return stopped;
  const detail = 'detail' in last.terminal ? `: ${last.terminal.detail}` : '';
  return showUnseen(`${reasonText(last.terminal.reason)}${detail}`.slice(0, MOST_DETAIL));
}
