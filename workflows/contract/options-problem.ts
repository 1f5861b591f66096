// The one check of a run's options, shared by the client (before anything starts) and the activity that opens a run.
import { permissionsProblem } from './permission-rules.ts';
import type { PermissionMode, RunOptions } from './session.ts';

export const permissionModes: readonly PermissionMode[] = ['default', 'acceptEdits', 'plan', 'dontAsk', 'bypass'];

/** Limits beyond which a number is a mistake rather than a wish. */
const MOST = {
  maxTurns: 1_000_000,
  maxBudgetUsd: 1_000_000,
  timeoutMs: 365 * 24 * 3_600_000,
  maxOutputTokens: 1_000_000,
  /** Characters: options travel through the workflow. */
  systemPrompt: 100_000,
  model: 200,
  cwd: 4_096,
};

/** A sentence that says what is wrong with the options and what would be right, or undefined. */
export function optionsProblem(options: Partial<RunOptions>): string | undefined {
  const { maxTurns, maxBudgetUsd, timeoutMs, maxOutputTokens, permissionMode, permissions } = options;
  const { model, cwd, systemPrompt } = options;
  return (
    text('system prompt', systemPrompt, MOST.systemPrompt) ??
    text('model', model, MOST.model) ??
    text('working directory', cwd, MOST.cwd) ??
    whole('max turns', maxTurns, MOST.maxTurns) ??
    positive('max budget', 'US dollars', maxBudgetUsd, MOST.maxBudgetUsd) ??
    positive('timeout', 'milliseconds', timeoutMs, MOST.timeoutMs) ??
    whole('max output tokens', maxOutputTokens, MOST.maxOutputTokens) ??
    (permissionMode !== undefined && !permissionModes.includes(permissionMode)
      ? `permission mode "${permissionMode}" is not one of ${permissionModes.join(', ')}`
      : undefined) ??
    permissionsProblem(permissions) ??
    (model !== undefined && model.trim() === '' ? 'the model is empty: give its name' : undefined) ??
    (cwd !== undefined && !cwd.startsWith('/') && !/^[A-Za-z]:[\\/]/.test(cwd)
      ? `the working directory "${cwd}" is not an absolute path`
      : undefined)
  );
}

function whole(name: string, value: number | undefined, most: number): string | undefined {
  if (value === undefined || (Number.isInteger(value) && value >= 1 && value <= most)) return undefined;
  return `${name} is ${value}: give a whole number from 1 to ${most}`;
}

function positive(name: string, unit: string, value: number | undefined, most: number): string | undefined {
  if (value === undefined || (Number.isFinite(value) && value > 0 && value <= most)) return undefined;
  return `${name} is ${value}: give a number of ${unit} above 0 and up to ${most}`;
}

/** Options may come from any Temporal client, so even their types are not certain. */
function text(name: string, value: unknown, most: number): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string') return `the ${name} is not a text`;
  return value.length <= most ? undefined : `the ${name} has ${value.length} characters: give at most ${most}`;
}
