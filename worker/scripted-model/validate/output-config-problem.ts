// What the API refuses of output_config: effort, a format, and with its beta a task budget.
import { extraKey, isObject } from './shape.ts';

const KEYS = ['effort', 'format'];
const TASK_BUDGETS = 'task-budgets-2026-03-13';
const EFFORTS: readonly unknown[] = [undefined, null, 'low', 'medium', 'high', 'xhigh', 'max'];
const LEAST_BUDGET = 20_000;
const budgetKeys = new Set(['type', 'total', 'remaining']);

export function outputConfigProblem(config: unknown, betas: readonly string[]): string | undefined {
  if (config === undefined || config === null) return undefined;
  if (!isObject(config)) return 'output_config: Input should be a valid dictionary';
  const keys = new Set([...KEYS, ...(betas.includes(TASK_BUDGETS) ? ['task_budget'] : [])]);
  const extra = extraKey(config, keys, 'output_config');
  if (extra !== undefined) return extra;
  if (!EFFORTS.includes(config['effort'])) {
    return "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'";
  }
  return budgetProblem(config['task_budget'], 'output_config.task_budget');
}

function budgetProblem(budget: unknown, path: string): string | undefined {
  if (budget === undefined || budget === null) return undefined;
  if (!isObject(budget)) return `${path}: Input should be a valid dictionary`;
  const { type, total, remaining } = budget;
  const extra = extraKey(budget, budgetKeys, path);
  if (extra !== undefined) return extra;
  if (type !== 'tokens') return `${path}.type: Input should be 'tokens'`;
  if (total === undefined) return `${path}.total: Field required`;
  if (!Number.isInteger(total)) return `${path}.total: Input should be a valid integer`;
  if (Number(total) < LEAST_BUDGET) return `${path}.total: Input should be greater than or equal to ${LEAST_BUDGET}`;
  if (remaining === undefined || remaining === null) return undefined;
  if (!Number.isInteger(remaining)) return `${path}.remaining: Input should be a valid integer`;
  return Number(remaining) < 0 ? `${path}.remaining: Input should be greater than or equal to 0` : undefined;
}
