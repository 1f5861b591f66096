// Says in one line what a running session does now, as lists show it. Pure.
import { oneLine } from '../paint.ts';
import type { SessionActivity, RunningState } from '../sessions/running/running-row.ts';
import { briefInput } from './tool-lines.ts';
import { formatCount } from '../units.ts';

const MOST = 100;
const FAILURE = 60;

/** Returns an empty text when nothing is known to be under way. */
export function nowText({ doing, model }: Pick<RunningState, 'doing' | 'model'>, most = MOST): string {
  const [first, ...others] = doing.toSorted((one, other) => rank(one) - rank(other));
  if (!first) return '';
  const more = others.length === 0 ? '' : ` · and ${formatCount(others.length, 'more step')}`;
  return oneLine(`${doingText(first, model, most)}${more}`, most + FAILURE);
}

/** What was tried most often comes first: it is what someone should look at. */
const rank = ({ attempt, kind }: SessionActivity): number => (attempt > 1 ? 0 : kind === 'agents' ? 2 : 1);

function doingText(doing: SessionActivity, model: string | null, most: number): string {
  const { attempt, failure, isTaken } = doing;
  const parts = [
    whatText(doing, model, most),
    ...(attempt > 1 ? [`attempt ${attempt}`] : isTaken ? [] : ['no worker has it yet']),
    ...(failure === null ? [] : [oneLine(failure, FAILURE)]),
  ];
  return parts.join(' · ');
}

const WORDS: Readonly<Record<string, string>> = {
  openRun: 'opens the run',
  commit: 'stores what was said',
  runStopHooks: 'runs stop hooks',
  afterStop: 'ends the run',
  findReply: 'looks for the reply',
  endWorktree: 'ends its work tree',
};

function whatText({ kind, step, call, agents }: SessionActivity, model: string | null, most: number): string {
  if (kind === 'agents') return `waits for ${formatCount(agents, 'agent')}`;
  if (call) return oneLine(`${call.tool} ${briefInput(call.input, most)}`.trimEnd(), most);
  if (kind === 'tool') return 'runs a tool';
  if (kind === 'compaction') return 'compacts the context';
  if (step === 'callModel') return model === null ? 'calls the model' : `calls ${oneLine(model, 60)}`;
  return WORDS[step ?? ''] ?? 'works';
}
