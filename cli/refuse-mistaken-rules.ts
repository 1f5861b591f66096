// Refuses a permission rule that must have meant another tool, before anything starts.
import { WEB_SEARCH } from '../client/faces/words.ts';
import { builtinNames, mistakenRule } from '../client/faces/sessions.ts';
import type { PerdureConfig, OptionChanges } from '../client/faces/types.ts';
import { UsageError } from './errors.ts';

/**
 * Throws UsageError for a rule, given or configured, whose tool is nearly called so. Tools that a
 * function of the configuration brings are known to the worker alone, which then judges.
 */
export function refuseMistakenRules({ permissions }: OptionChanges, config: PerdureConfig): void {
  const { tools = [] } = config;
  if (typeof tools === 'function') return;
  const names = [...builtinNames, WEB_SEARCH, ...tools.map(({ name }) => name)];
  const problem = mistakenRule(permissions ?? {}, names) ?? mistakenRule(config.permissions ?? {}, names);
  if (problem !== undefined) throw new UsageError(problem);
}
