// All scenarios: each runs once in peace, once with the worker killed at a model call, and once
// handed over at every iteration.
import { contextScenarios } from './scenarios/context.ts';
import { endScenarios } from './scenarios/ends.ts';
import { plainScenarios } from './scenarios/plain.ts';
import type { Scenario } from './scenarios/scenario.ts';

export { fillWorkspace, type Scenario } from './scenarios/scenario.ts';
export { crowdOf, eachOnce, playedTogether } from './scenarios/crowd.ts';

export const scenarios: readonly Scenario[] = [...plainScenarios, ...contextScenarios, ...endScenarios];
