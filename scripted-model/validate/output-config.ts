// The API's refusals of output_config: effort, a format, and with its beta a task budget.
import { BETAS } from './betas.ts';
import { extraKeyProblem, isObject } from './shape.ts';

const OUTPUT_KEYS = ['effort', 'format'];
const EFFORTS: readonly unknown[] = [undefined, null, 'low', 'medium', 'high', 'xhigh', 'max'];
const LEAST_BUDGET = 20_000;
const budgetKeys = new Set(['type', 'total', 'remaining']);

export function outputConfigProblem(config: unknown, betas: readonly string[]): string | undefined {
  if (config === undefined || config === null) return undefined;
  if (!isObject(config)) return 'output_config: Input should be a valid dictionary';
  const keys = new Set([...OUTPUT_KEYS, ...(betas.includes(BETAS.taskBudgets) ? ['task_budget'] : [])]);
  const extra = extraKeyProblem(config, keys, 'output_config');
  if (extra !== undefined) return extra;
  if (!isEffort(config['effort'])) return EFFORT_PROBLEM;
  return taskBudgetProblem(config['task_budget'], 'output_config.task_budget');
}

export const EFFORT_PROBLEM = "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'";

/** Tells whether a value is an effort; an absent one counts. */
export function isEffort(value: unknown): boolean {
  return EFFORTS.includes(value);
}

function taskBudgetProblem(budget: unknown, path: string): string | undefined {
  if (budget === undefined || budget === null) return undefined;
  if (!isObject(budget)) return `${path}: Input should be a valid dictionary`;
  const { type, total, remaining } = budget;
  const extra = extraKeyProblem(budget, budgetKeys, path);
  if (extra !== undefined) return extra;
  if (type !== 'tokens') return `${path}.type: Input should be 'tokens'`;
  if (total === undefined) return `${path}.total: Field required`;
  if (!Number.isInteger(total)) return `${path}.total: Input should be a valid integer`;
  if (Number(total) < LEAST_BUDGET) return `${path}.total: Input should be greater than or equal to ${LEAST_BUDGET}`;
  if (remaining === undefined || remaining === null) return undefined;
  if (!Number.isInteger(remaining)) return `${path}.remaining: Input should be a valid integer`;
  return Number(remaining) < 0 ? `${path}.remaining: Input should be greater than or equal to 0` : undefined;
}
