// Describes what a session's file brings in addition to its transcript: what the agent may do and
// what it is told from the next run on.
import type { RunOptions } from '../../workflows/contract/session.ts';
import { oneLine } from '../paint.ts';

/**
 * `lines` describe the options for the person who imports. `widens` is true when some option lets
 * the agent do more, or tells it more, than a new session of this folder would.
 */
export type ImportedOptions = { readonly lines: readonly string[]; readonly widens: boolean };

const LONGEST = 300;
/** Modes that ask less than the default. */
const FREE_MODES: readonly string[] = ['acceptEdits', 'bypass'];

export function describeImportedOptions(options: RunOptions): ImportedOptions {
  const { permissionMode, permissions = {}, additionalDirectories = [], toolEnv = {} } = options;
  const listed = (values: readonly string[]): string => oneLine(values.join(', '), LONGEST);
  const prompt = (text: string): string => `${text.length} characters: ${oneLine(text, LONGEST)}`;
  const variables = Object.entries(toolEnv).map(([name, value]) => `${name}=${value}`);
  const widening: readonly (string | false)[] = [
    permissionMode !== undefined && FREE_MODES.includes(permissionMode) && `permission mode ${permissionMode}`,
    (permissions.allow ?? []).length > 0 && `rules that allow: ${listed(permissions.allow ?? [])}`,
    additionalDirectories.length > 0 && `folders besides the workspace: ${listed(additionalDirectories)}`,
    variables.length > 0 && `variables of commands: ${listed(variables)}`,
    options.systemPrompt !== undefined && `a system prompt of ${prompt(options.systemPrompt)}`,
    options.appendSystemPrompt !== undefined &&
      `a system prompt behind the worker's, ${prompt(options.appendSystemPrompt)}`,
  ];
  const narrowing: readonly (string | false)[] = [
    permissionMode !== undefined && !FREE_MODES.includes(permissionMode) && `permission mode ${permissionMode}`,
    (permissions.ask ?? []).length > 0 && `rules that ask: ${listed(permissions.ask ?? [])}`,
    (permissions.deny ?? []).length > 0 && `rules that deny: ${listed(permissions.deny ?? [])}`,
  ];
  const isThere = (line: string | false): line is string => line !== false;
  const widens = widening.filter(isThere);
  return { lines: [...widens, ...narrowing.filter(isThere)], widens: widens.length > 0 };
}
