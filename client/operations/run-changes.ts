// Changes of the run under way, and of the options of the next one (Q10). The session accepts them
// or refuses them with a sentence.
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { optionsProblem } from '../../workflows/contract/options-problem.ts';
import { permissionsProblem } from '../../workflows/contract/permission-rules.ts';
import { LIMITS, type NewLimits } from '../../workflows/contract/run-options.ts';
import { type OptionChanges, type RuleChanges, type TopUp, UPDATES } from '../../workflows/contract/session.ts';
import type { KeysOf } from '../options.ts';
import type { ActOptions } from '../sessions/decide.ts';
import { findWrongOption } from '../sessions/message.ts';
import { defineOperation } from './operation.ts';
import { list, runOptions } from './shapes.ts';

const limitFields = Object.fromEntries(
  Object.entries(LIMITS).map(([name, { raises }]) => [name, z.number().describe(raises).optional()]),
) as Readonly<Record<keyof NewLimits, z.ZodOptional<z.ZodNumber>>>;

export const topUp = defineOperation<ActOptions & { readonly limits: TopUp }>({
  name: 'topUp',
  target: 'session',
  role: 'steer',
  path: 'top-up',
  summary: 'Raises limits of the run under way, each counted from its beginning; `exact` also sets and lowers them.',
  wraps: 'limits',
  body: z.strictObject({ ...limitFields, exact: z.literal(true).optional() } satisfies KeysOf<TopUp>),
  done: 'Limit updated.',
  problemOf(request) {
    const { exact: _, ...limits } = request.limits;
    if (Object.keys(limits).length > 0) return optionsProblem(limits);
    return `no limit is named: give ${Object.keys(LIMITS).join(', ')}`;
  },
  run: (means, session, { limits, ...options }) => means.updateOpen(session, UPDATES.topUp, limits, options),
  isAppliedBy: (earlier, { limits: { exact, ...limits } }) =>
    earlier.kind === 'topUp' && earlier.exact === exact && isDeepStrictEqual(earlier.limits, limits),
});

export const changeRules = defineOperation<ActOptions & { readonly rules: RuleChanges }>({
  name: 'changeRules',
  target: 'session',
  role: 'steer',
  path: 'rules',
  summary: 'Gives the run under way more rules that allow, or takes such rules back.',
  wraps: 'rules',
  body: z.strictObject({
    allow: list.optional(),
    drop: list.optional(),
    lasts: z.literal('session').optional(),
  } satisfies KeysOf<RuleChanges>),
  problemOf: ({ rules: { allow, drop } }) => permissionsProblem({ allow }) ?? permissionsProblem({ allow: drop }),
  run: (means, session, { rules, ...options }) => means.updateOpen(session, UPDATES.changeRules, rules, options),
});

export const setOptions = defineOperation<ActOptions & { readonly changes: OptionChanges }>({
  name: 'setOptions',
  target: 'session',
  role: 'steer',
  path: 'options',
  summary: 'Options from the next run on; null takes one back.',
  wraps: 'changes',
  body: runOptions,
  done: 'Saved. Applies from the next run on.',
  problemOf: ({ changes }) =>
    Object.keys(changes).length === 0 ? 'no option is given: name what is to change' : findWrongOption(changes),
  run: (means, session, { changes, ...options }) => means.updateOpen(session, UPDATES.setOptions, changes, options),
});
