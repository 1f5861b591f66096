// Describes in one line what a followed run does now: phase, iteration, time, tokens and cost so
// far, how full the context is. Folded from its events. Pure.
import { addSpend, noSpend, totalTokens } from '../../client/faces/contract.ts';
import type { Spend, Followed } from '../../client/faces/types.ts';
import { formatMoney, formatTokens, shortTime } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';

/** Times are in milliseconds since the epoch. */
export type RunStatus = {
  readonly doing: string;
  /** When the current activity began, as far as it was seen. */
  readonly since: number;
  /** Running tools, by their blocks. */
  readonly tools: ReadonlyMap<number, string>;
  /** Calls that a person is asked about. */
  readonly asked: ReadonlySet<string>;
  readonly iteration: number | null;
  /** The model that was asked last; null before. */
  readonly model: string | null;
  /** Spend of this run's stored replies. */
  readonly spend: Spend;
  /** Tokens that fit into the context; null when unknown. */
  readonly window: number | null;
  /** Tokens in the context at the last reply; null before. */
  readonly context: number | null;
};

const longest = 40;

/**
 * Applies an event. `before` is null while no run was seen; the result is null when the run is
 * over.
 */
export function nextStatus(before: RunStatus | null, event: Followed, now: number): RunStatus | null {
  if (event.type === 'run_start') return { ...newStatus(now, event.window), model: event.model };
  if (event.type === 'run_end' || event.type === 'result') return null;
  const status = before ?? newStatus(now);
  const next = applyEvent(status, event);
  return next.doing === status.doing ? next : { ...next, since: now };
}

const newStatus = (now: number, window: number | null = null): RunStatus => ({
  doing: 'starting',
  since: now,
  tools: new Map(),
  asked: new Set(),
  iteration: null,
  model: null,
  spend: noSpend,
  window,
  context: null,
});

function applyEvent(status: RunStatus, event: Followed): RunStatus {
  switch (event.type) {
    case 'request_start': {
      const doing = `asks ${oneLine(event.model, longest)}${event.attempt > 1 ? ` again, attempt ${event.attempt}` : ''}`;
      return { ...status, doing, model: event.model, iteration: event.iteration, tools: new Map() };
    }
    case 'thinking_delta':
      return { ...status, doing: 'the model thinks' };
    case 'text_delta':
      return { ...status, doing: 'the model writes' };
    case 'web_search':
      return { ...status, doing: 'the model searches the web' };
    case 'tool_use':
      return status.tools.size > 0 ? status : { ...status, doing: `the model calls ${oneLine(event.name, longest)}` };
    case 'tool_start':
      return withTools(status, new Map([...status.tools, [event.index, oneLine(event.name, longest)]]));
    case 'tool_end':
      return withTools(status, new Map([...status.tools].filter(([index]) => index !== event.index)));
    case 'reply':
      return event.spend ? withSpend(status, event.spend) : status;
    case 'retry':
      return { ...status, doing: `waits ${shortTime(event.delayMs)} to ask again` };
    case 'compaction_start':
      return { ...status, doing: 'compacts the conversation' };
    case 'compaction_end':
      return { ...status, context: event.after };
    case 'hook_start':
      return { ...status, doing: `runs hook ${oneLine(event.hook, longest)}` };
    case 'approval':
    case 'question':
      return withAsked(status, new Set([...status.asked, event.call]));
    case 'approval_settled':
      return withAsked(status, new Set([...status.asked].filter((call) => call !== event.call)));
    default:
      return status;
  }
}

function withSpend(status: RunStatus, spend: Spend): RunStatus {
  return { ...status, spend: addSpend(status.spend, spend), context: totalTokens(spend.usage) };
}

/** When the last tool has ended, the loop continues. */
function withTools(status: RunStatus, tools: RunStatus['tools']): RunStatus {
  const doing = tools.size === 0 ? 'working' : `runs ${[...new Set(tools.values())].join(', ')}`;
  return { ...status, tools, doing };
}

function withAsked(status: RunStatus, calls: RunStatus['asked']): RunStatus {
  return calls.size > 0
    ? { ...status, asked: calls, doing: 'waits for a decision' }
    : withTools({ ...status, asked: calls }, status.tools);
}

const FRAMES = Array.from('⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏');
/** Milliseconds that each frame is shown. */
export const FRAME_MS = 100;

/** Formats what the run does, and for how long. */
export function activityText({ doing, since }: RunStatus, now: number): string {
  const took = now - since;
  const long = took < 1_000 ? '' : `, ${shortTime(Math.floor(took / 1_000) * 1_000).replace('.0 s', ' s')}`;
  return `${FRAMES[Math.floor(now / FRAME_MS) % FRAMES.length]} ${doing}${long}`;
}

/** Formats the status. If there is too little room, the tokens are dropped first, then the cost. */
export function statusText(status: RunStatus, now: number, columns = Number.POSITIVE_INFINITY): string {
  const { iteration, spend, window, context } = status;
  const parts = (...left: readonly string[]): string =>
    [
      activityText(status, now),
      ...(iteration === null ? [] : [`iteration ${iteration}`]),
      ...left,
      ...(window === null || context === null ? [] : [`context ${Math.round((context / window) * 100)} %`]),
    ].join(' · ');
  const [tokens, cost] = [formatTokens(totalTokens(spend.usage)), formatMoney(spend.usd)];
  const ways = spend === noSpend ? [parts()] : [parts(tokens, cost), parts(cost), parts()];
  return ways.find((way) => way.length < columns) ?? ways.at(-1) ?? '';
}
