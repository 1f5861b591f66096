// Options of a run: their rows, their bounds, what is wrong with some, and how a change of them, as
// of all steering, is told.
export {
  limitsText,
  optionsText,
  PLAIN_ACTIONS,
  rewoundPartsText,
  rulesText,
  steeringText,
  turnsText,
} from '../render/context-words.ts';
export { optionsProblem, withChanges } from '../../workflows/contract/options-problem.ts';
export { parseRule, permissionModes, permissionsProblem } from '../../workflows/contract/permission-rules.ts';
export { LIMITS, OPTION_BOUNDS, RUN_OPTIONS } from '../../workflows/contract/run-options.ts';
export { toolVariableProblem } from '../../workflows/contract/tool-env.ts';
