// Opens a run for the messages that wait, and runs it.
import { ActivityFailure, CancellationScope, isCancellation, patched } from '@temporalio/workflow';
import type { Append, OpenRun, RunOpened, WorkspacePlace } from '../contract/activities.ts';
import type { StopCause } from '../contract/loop.ts';
import { optionsSizeProblem } from '../contract/options-problem.ts';
import { promptLimits, remainingGrant, withinGrant, withinPrompt } from '../delegated/grant.ts';
import { endAtLimit, showError, stopNotice } from '../machine/limits.ts';
import type { LoopEnd } from '../machine/loop.ts';
import { initialState } from '../machine/state.ts';
import { snipAppend, userAppends } from '../machine/transitions.ts';
import { activityProblem } from '../activity-problem.ts';
import { idsFromPeople, keepPlaceUnlessGiven, listMessages } from '../session/inbox.ts';
import { notWaiting } from '../session/session-state.ts';
import type { Session } from '../session/session.ts';
import { runToEnd, finishRun } from './run.ts';
import { goalOfOptions } from '../contract/goals.ts';
import { bringGoal, withGoal } from '../machine/goals.ts';
import { present } from '../contract/present.ts';
import type { RunSummary } from '../contract/session.ts';

/** Opens a run for the messages that wait, and goes on with it to its end. */
export async function openAndRun(session: Session): Promise<void> {
  const { messages, interrupted } = session.takeMessages();
  const { facts } = session;
  const before = facts.now.options;
  facts.beginRun(messages);
  const { head, runs, context } = facts.now;
  const startedAt = Date.now();
  session.beginRun({ state: initialState(head, []), ...notWaiting });
  const isOpenedByEnds = messages.every(({ ended: news }) => news);
  session.delegations.agents.beginRun(!isOpenedByEnds);
  if (interrupted) session.stop('interrupt');
  session.enterPhase('running');
  if (facts.now.leaving) await leaveBefore(session);
  const opened = await openWithPlace(session, keepPlaceUnlessGiven(facts.now.place, messages));
  session.refusedOptions = opened.kind === 'refused' ? opened.detail : null;
  const ids = listMessages(idsFromPeople(messages));
  if ('alerts' in opened) {
    facts.knowAlerts(opened.alerts);
    session.webhooks.subscribe(opened);
  }
  const { snips } = facts.now;
  facts.dropSnips(snips);
  const loss = [...facts.takeLoss(), ...budgetSpentNotices(facts.now.last)];
  const prompts = messages.filter(({ compact }) => compact === undefined);
  const aimed = withGoal(prompts, goalOfOptions(facts.now.options));
  const users = [...session.steered.take(), ...snipAppend(snips), ...aimed.flatMap(userAppends)];
  if (opened.kind !== 'opened') {
    facts.failToOpen(opened.kind === 'refused' ? 'refused' : 'failed', before);
    const end = endWithoutOpening(opened);
    const state = initialState(head, [...loss, ...users], context);
    await finishRun(session, { ...end, state }, { messages: ids, startedAt, config: null });
    return;
  }
  facts.openRun(opened.place ?? null, opened.host ?? null);
  if (opened.host) session.memoWriter.markChanged();
  const { config, models } = opened;
  const promptRules = isOpenedByEnds ? withinPrompt(opened.rules, session) : opened.rules;
  const rules = withinGrant(promptRules, remainingGrant(session));
  const { sessionBudgetUsd: budgetUsd } = facts.now.options;
  const startEntry = { kind: 'run_started', run: runs, config, at: startedAt, ...present({ budgetUsd }) } as const;
  const [demand] = messages.flatMap(({ compact }) => compact ?? []);
  const begun = { ...initialState(head, [...loss, startEntry, ...users], context), ...bringGoal(aimed) };
  const state = { ...begun, ...(demand && { demand, turn: 0 }) };
  const deadline = rules.timeoutMs === null ? null : startedAt + rules.timeoutMs;
  const spentTurns = rules.maxTurns < 1 && endAtLimit({ ...state, turn: opened.rules.maxTurns }, opened.rules, 'turns');
  if (spentTurns) return await finishRun(session, { ...spentTurns, state }, { messages: ids, startedAt, config });
  const whole = isOpenedByEnds ? { whole: promptLimits(opened.rules) } : {};
  const snapshot = { config, rules, ...present({ models }), ...whole };
  await runToEnd(session, { snapshot, state, messages: ids, startedAt, deadline, ...notWaiting });
}

/**
 * `failed`: the opening itself went wrong, not what it was asked for. `stopped`: a stop came while
 * the opening waited for a host.
 */
type OpeningFailure =
  { readonly kind: 'failed'; readonly detail: string } | { readonly kind: 'stopped'; readonly by: StopCause };

function endWithoutOpening(
  opened: Exclude<RunOpened | OpeningFailure, { kind: 'opened' }>,
): Pick<LoopEnd, 'terminal' | 'append'> {
  if (opened.kind !== 'stopped') return showError({ reason: 'model_error', detail: opened.detail });
  return { terminal: { reason: 'aborted_streaming', by: opened.by }, append: stopNotice(opened.by) };
}

/**
 * A stop ends the hooks of the session's start (L47), which the next run then asks again. It never
 * ends the opening itself: the transcript says what each run was opened with.
 */
async function openWithPlace(session: Session, place: WorkspacePlace | null): Promise<RunOpened | OpeningFailure> {
  const { chain, runs, options, begun: hasBegun, refused, traceparent, querySource, host = null } = session.facts.now;
  const detail = refused ?? optionsSizeProblem(options);
  if (detail !== undefined) return { kind: 'refused', detail };
  // The work tree of an agent is made where its parent works.
  const isWhereParentIs = !hasBegun && session.input.agent?.isolation !== undefined;
  const onHost = host !== null && (place !== null || isWhereParentIs);
  const known = {
    ...(place && { place }),
    ...(onHost && { onHost: true as const }),
    ...(session.input.agent && { agent: session.input.agent }),
    ...(traceparent && { traceparent }),
    ...(querySource && { querySource }),
  };
  const input = (): OpenRun => ({ chain, run: runs, step: session.facts.nextStep(), options, ...known });
  try {
    const opened =
      hasBegun && !onHost
        ? null
        : await openStoppable(session, { ...input(), ...(!hasBegun && { begins: true as const }) });
    // Waiting for a host that is away would not end.
    if (opened === null && onHost && session.stopCause) return { kind: 'stopped', by: session.stopCause };
    return opened ?? (await CancellationScope.nonCancellable(() => openFollowed(session, input())));
  } catch (error) {
    const problem = activityProblem(error);
    if (problem === null) throw error;
    return { kind: 'failed', detail: problem.detail };
  }
}

/** Moves the session before its run opens. A stop ends the run once it is open. */
async function leaveBefore({ runScope, hosting }: Session): Promise<void> {
  try {
    await runScope.run(() => hosting.moveIfRequested());
  } catch (error) {
    if (!isCancellation(error)) throw error;
  }
}

/** Opens a run where the session's folder is: after a move that is another place (T18). */
function openFollowed({ ports, hosting, facts }: Session, input: OpenRun): Promise<RunOpened> {
  if (!input.onHost) return ports.openRun(input);
  return hosting.onHost((again) => {
    const { place } = facts.now;
    return ports.openRun({ ...input, ...again, ...(place && { place }) });
  });
}

/** Returns null when the opening was stopped. */
async function openStoppable(session: Session, input: OpenRun): Promise<RunOpened | null> {
  try {
    const opened = await session.runScope.run(() => openFollowed(session, input));
    if (opened.kind === 'opened') session.facts.noteHooksAsked();
    return opened;
  } catch (error) {
    if (session.stopCause && (isCancellation(error) || error instanceof ActivityFailure)) return null;
    throw error;
  }
}

// Tells the model of the next prompt that the run before was cut short: nothing else in the
// conversation says so (L51).
function budgetSpentNotices(last: Pick<RunSummary, 'terminal'> | null): readonly Append[] {
  const { terminal } = last ?? {};
  if (terminal?.reason !== 'budget_exceeded' || !patched('perdure-budget-spent')) return [];
  const limit = 'limitUsd' in terminal ? 'cost' : 'tokens';
  return [{ kind: 'notice', notice: { kind: 'budget_spent', limit } }];
}
