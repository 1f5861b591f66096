// Handles the updates that steer a session: a repair, options for its next run, other limits and
// more rules for the run under way (Q10). Each is refused with a sentence before it is accepted.
import { defineUpdate, setHandler } from '@temporalio/workflow';
import type { Rules } from '../contract/loop.ts';
import { didYouMean } from '../contract/did-you-mean.ts';
import { LIMITS } from '../contract/run-options.ts';
import { optionsProblem, withChanges } from '../contract/options-problem.ts';
import { isHash, type Hash } from '../contract/ids.ts';
import { permissionsProblem, type PermissionRules } from '../contract/permission-rules.ts';
import {
  LONGEST_LOSS,
  MOST_GRANTED,
  UPDATES,
  type OptionChanges,
  type Repair,
  type NewLimits,
  type RuleChanges,
  type RunOptions,
  type TopUp,
} from '../contract/session.ts';
import { unwrapRequest, isOnce, optionsAction, type Signature, type UpdateOnce } from '../contract/steered.ts';
import { grantProblem } from '../delegated/grant.ts';
import { sessionBudgetProblem } from '../session/budget.ts';
import type { Session } from '../session/session.ts';
import type { SteeredLog } from './steered-log.ts';
import { refuse, UPDATE_DESCRIPTIONS } from './approvals.ts';
import { withRules } from './run-limits.ts';

const CLOSING_TEXT = 'the session is closing: nothing runs in it any more';

export function handleSteering(session: Session): void {
  const { facts, memoWriter, steered } = session;
  const isBusy = (): boolean => session.run !== null || session.inbox.count > 0;
  takeUpdate<Repair>(
    steered,
    UPDATES.repair,
    (repair) => repairProblem(repair, facts.now.head, isBusy()),
    (repair, by) => {
      facts.repair(repair);
      steered.note({ action: 'repair' }, by);
      memoWriter.markChanged();
    },
  );
  takeUpdate<OptionChanges>(
    steered,
    UPDATES.setOptions,
    (changes) => changesProblem(facts.now.options, changes) ?? sessionBudgetProblem(changes, session),
    (changes, by) => {
      facts.bringOptions([{ options: changes }]);
      steered.note(optionsAction(changes), by);
      memoWriter.markChanged();
    },
  );
  takeUpdate<TopUp>(
    steered,
    UPDATES.topUp,
    (more) => topUpProblem(more, session.changeableLimits?.snapshot.rules ?? null) ?? grantProblem(more, session),
    ({ exact, ...limits }, by) => {
      session.changeableLimits?.change(limits);
      steered.note({ action: exact ? 'setLimits' : 'topUp', limits }, by);
    },
  );
  takeUpdate<RuleChanges>(
    steered,
    UPDATES.changeRules,
    (rules) => rulesProblem(rules, session),
    (rules, by) => {
      session.changeableLimits?.changeRules(rules);
      if (rules.lasts) facts.bringOptions([{ options: { permissions: lastingRules(facts.now.options, rules) } }]);
      steered.note({ action: 'changeRules', rules }, by);
      memoWriter.markChanged();
    },
  );
}

function takeUpdate<Request>(
  log: SteeredLog,
  name: 'repair' | 'setOptions' | 'topUp' | 'changeRules',
  problem: (request: Request) => string | undefined,
  act: (request: Request, by: unknown) => void,
): void {
  const validator = (request: Request | UpdateOnce<Request>, _by?: Signature): void => {
    refuse(log.isClosing ? CLOSING_TEXT : (log.once.problem(name, request) ?? problem(unwrapRequest(request))));
  };
  const handle = (request: Request | UpdateOnce<Request>, by?: Signature): void => {
    log.once.note(request);
    act(unwrapRequest(request), isOnce(request) ? request : by);
  };
  const description = UPDATE_DESCRIPTIONS[name];
  setHandler(defineUpdate<void, [Request | UpdateOnce<Request>, Signature?]>(name), handle, { validator, description });
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function changesProblem(options: RunOptions, changes: OptionChanges): string | undefined {
  if (!isObject(changes)) return 'the options are no object';
  return optionsProblem(withChanges(options, changes));
}

/**
 * Returns a sentence that says why a run with these rules cannot be given more, or undefined.
 * `rules`: null when nothing runs.
 */
function topUpProblem(topUp: NewLimits & { readonly exact?: unknown }, rules: Rules | null): string | undefined {
  if (!isObject(topUp)) return 'the limits are no object';
  const { exact, ...more } = topUp;
  if (exact !== undefined && exact !== true) return '"exact" is true or absent';
  if (rules === null) return 'nothing runs whose limits could be raised: set the limits of the next run';
  const names = Object.keys(LIMITS) as (keyof NewLimits)[];
  const keys = Object.keys(more);
  if (keys.length === 0) return `no limit is named: give ${names.join(', ')}`;
  const unknown = keys.find((key) => !Object.hasOwn(LIMITS, key));
  if (unknown !== undefined)
    return `there is no limit ${JSON.stringify(unknown.slice(0, 60))}: ${didYouMean(unknown, names)}`;
  const wrong = optionsProblem(more);
  if (wrong !== undefined || exact) return wrong;
  return names
    .map((key) => raiseProblem(LIMITS[key].counts, more[key], rules[key]))
    .find((problem) => problem !== undefined);
}

function raiseProblem(name: string, more: number | undefined, now: number | null): string | undefined {
  if (more === undefined) return undefined;
  if (now === null) return `the run has no limit of ${name}, so there is nothing to raise: set one exactly`;
  return more > now
    ? undefined
    : `the run's limit of ${name} is ${now} already: give more than that, or set it exactly`;
}

/** Returns a sentence that says why the session does not take these rules, or undefined. */
function rulesProblem(rules: RuleChanges, session: Session): string | undefined {
  if (!isObject(rules)) return 'the rules are no object';
  const { allow = [], drop = [], lasts, ...rest } = rules;
  const unknown = Object.keys(rest)[0];
  if (unknown !== undefined) return `there are no rules ${JSON.stringify(unknown.slice(0, 60))}: give allow or drop`;
  if (lasts !== undefined && lasts !== 'session') return '"lasts" is "session" or absent';
  const wrong = permissionsProblem({ allow }) ?? permissionsProblem({ allow: drop });
  if (wrong !== undefined) return wrong;
  if (allow.length + drop.length === 0) return 'no rule is given';
  const limits = session.changeableLimits;
  if (limits === null && lasts === undefined) return 'nothing runs whose rules could be changed';
  const all = withRules(limits?.snapshot.granted ?? [], rules);
  if (all.length > MOST_GRANTED) return `a run takes ${MOST_GRANTED} more rules at most`;
  if (!lasts) return undefined;
  const { options } = session.facts.now;
  return optionsProblem(withChanges(options, { permissions: lastingRules(options, rules) }));
}

function lastingRules({ permissions = {} }: RunOptions, rules: RuleChanges): PermissionRules {
  return { ...permissions, allow: withRules(permissions.allow ?? [], rules) };
}

/**
 * Returns a sentence that says why a session at `head` does not take a repair, or undefined.
 * `busy`: it has a run, or a message for one.
 */
function repairProblem(repair: Repair | undefined, head: Hash | null, busy: boolean): string | undefined {
  if (!isHash(repair?.from) || !isHash(repair.to)) return 'the repair names no head to go on from';
  if (typeof repair.lost !== 'string' || repair.lost.length > LONGEST_LOSS)
    return 'the repair does not say what is lost';
  if (busy) return 'something runs now, or waits to: interrupt it first';
  return head === repair.from ? undefined : 'its transcript has gone on meanwhile: look at it again';
}
