// Handles the updates that steer a session: a repair, options for its next run, more for the run
// under way (Q10). Each is refused with a sentence before it is accepted.
import { defineUpdate, setHandler } from '@temporalio/workflow';
import type { Rules } from '../contract/loop.ts';
import { didYouMean } from '../contract/did-you-mean.ts';
import { LIMITS, optionsProblem, withChanges } from '../contract/options-problem.ts';
import { isHash, type Hash } from '../contract/ids.ts';
import {
  LONGEST_LOSS,
  UPDATES,
  type OptionChanges,
  type Repair,
  type RunOptions,
  type TopUp,
} from '../contract/session.ts';
import { unwrapAsked, isOnce, optionsDeed, type Signature, type UpdateOnce } from '../contract/steered.ts';
import { grantProblem } from '../delegated/grant.ts';
import type { Session } from '../session/session.ts';
import type { SteeredLog } from './steered-log.ts';
import { refuse } from './approvals.ts';
import { UPDATE_DESCRIPTIONS } from './descriptions.ts';

const CLOSING = 'the session is closing: nothing runs in it any more';

export function handleSteering(session: Session): void {
  const { facts, memoWriter, steered } = session;
  const isBusy = (): boolean => session.run !== null || session.inbox.count > 0;
  takeUpdate<Repair>(
    steered,
    UPDATES.repair,
    (asked) => repairProblem(asked, facts.now.head, isBusy()),
    (asked, by) => {
      facts.repair(asked);
      steered.note({ action: 'repair' }, by);
      memoWriter.markChanged();
    },
  );
  takeUpdate<OptionChanges>(
    steered,
    UPDATES.setOptions,
    (changes) => changesProblem(facts.now.options, changes),
    (changes, by) => {
      facts.bringOptions([{ options: changes }]);
      steered.note(optionsDeed(changes), by);
      memoWriter.markChanged();
    },
  );
  takeUpdate<TopUp>(
    steered,
    UPDATES.topUp,
    (more) => topUpProblem(more, session.raisableLimits?.snapshot.rules ?? null) ?? grantProblem(more, session),
    (more, by) => {
      session.raisableLimits?.raise(more);
      steered.note({ action: 'topUp', limits: more }, by);
    },
  );
}

function takeUpdate<Asked>(
  log: SteeredLog,
  name: 'repair' | 'setOptions' | 'topUp',
  problem: (asked: Asked) => string | undefined,
  act: (asked: Asked, by: unknown) => void,
): void {
  const validator = (given: Asked | UpdateOnce<Asked>, _by?: Signature): void => {
    refuse(log.isClosing ? CLOSING : (log.once.problem(name, given) ?? problem(unwrapAsked(given))));
  };
  const handle = (given: Asked | UpdateOnce<Asked>, by?: Signature): void => {
    log.once.note(given);
    act(unwrapAsked(given), isOnce(given) ? given : by);
  };
  const description = UPDATE_DESCRIPTIONS[name];
  setHandler(defineUpdate<void, [Asked | UpdateOnce<Asked>, Signature?]>(name), handle, { validator, description });
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
function topUpProblem(more: TopUp, rules: Rules | null): string | undefined {
  if (!isObject(more)) return 'the limits are no object';
  if (rules === null) return 'nothing runs whose limits could be raised: set the limits of the next run';
  const names = Object.keys(LIMITS) as (keyof TopUp)[];
  const given = Object.keys(more);
  if (given.length === 0) return `no limit is named: give ${names.join(', ')}`;
  const unknown = given.find((key) => !Object.hasOwn(LIMITS, key));
  if (unknown !== undefined)
    return `there is no limit ${JSON.stringify(unknown.slice(0, 60))}: ${didYouMean(unknown, names)}`;
  const wrong = optionsProblem(more);
  if (wrong !== undefined) return wrong;
  return names.map((key) => raiseProblem(LIMITS[key], more[key], rules[key])).find((problem) => problem !== undefined);
}

function raiseProblem(name: string, more: number | undefined, now: number | null): string | undefined {
  if (more === undefined) return undefined;
  if (now === null) return `the run has no limit of ${name}, so there is nothing to raise`;
  return more > now ? undefined : `the run's limit of ${name} is ${now} already: give more than that`;
}

/**
 * Returns a sentence that says why a session at `head` does not take a repair, or undefined.
 * `busy`: it has a run, or a message for one.
 */
function repairProblem(asked: Repair | undefined, head: Hash | null, busy: boolean): string | undefined {
  if (!isHash(asked?.from) || !isHash(asked.to)) return 'the repair names no head to go on from';
  if (typeof asked.lost !== 'string' || asked.lost.length > LONGEST_LOSS) return 'the repair does not say what is lost';
  if (busy) return 'something runs now, or waits to: interrupt it first';
  return head === asked.from ? undefined : 'its transcript has gone on meanwhile: look at it again';
}
