// Options of a run: their rows, their bounds, and what is wrong with some.
export { optionsProblem, withChanges } from '../../workflows/contract/options-problem.ts';
export { parseRule, permissionModes, permissionsProblem } from '../../workflows/contract/permission-rules.ts';
export { LIMITS, OPTION_BOUNDS, RUN_OPTIONS } from '../../workflows/contract/run-options.ts';
export { toolVariableProblem } from '../../workflows/contract/tool-env.ts';
