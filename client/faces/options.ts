// Options of a run: their rows and bounds, what is wrong with given ones, and how changes of them
// and other steering are worded.
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
