// Checks messages of the role `system`: which models take them, where they may stand, what they may
// hold.
import type { ModelProfile } from '../models/profiles.ts';
import { EFFORT_PROBLEM, isEffort } from './tools.ts';
import { BETAS } from './betas.ts';
import { extraKeyProblem, firstProblem, isObject, type Json } from './shape.ts';
import { sayingProblem, textProblem } from './blocks.ts';

export type Message = { readonly role: string; readonly content?: string | readonly Json[] };

export const TOOL_CHANGES: readonly unknown[] = ['tool_addition', 'tool_removal'];

export function systemMessageProblem(
  message: Json,
  path: string,
  betas: readonly string[],
  profile: ModelProfile | undefined,
): string | undefined {
  const clears = betas.includes(BETAS.clearAt) ? ['clear_at'] : [];
  const configures = betas.includes(BETAS.messageEffort) ? ['output_config'] : [];
  const extra = extraKeyProblem(message, new Set(['role', 'content', ...clears, ...configures]), path);
  if (extra !== undefined) return extra;
  if (profile?.systemMessages === false) return "role 'system' is not supported on this model";
  return (
    clearAtProblem(message['clear_at'], path) ??
    turnScopedProblem(message, path) ??
    effortProblem(message['output_config'], path, profile) ??
    contentProblem(message, path)
  );
}

/** Refuses `clear_at` in a message of another role. */
export function strayClearAtProblem(message: Json, path: string, betas: readonly string[]): string | undefined {
  if (!('clear_at' in message) || !betas.includes(BETAS.clearAt)) return undefined;
  return `${path}.clear_at: clear_at is only permitted on role 'system' messages`;
}

function clearAtProblem(value: unknown, path: string): string | undefined {
  if ([undefined, null, 'never', 'next_user_message'].includes(value as string)) return undefined;
  return `${path}.clear_at: Input should be 'next_user_message' or 'never'`;
}

function turnScopedProblem(message: Json, path: string): string | undefined {
  if (!isTurnScoped(message)) return undefined;
  const scoped = "(clear_at: 'next_user_message')";
  if ('output_config' in message)
    return `${path}: output_config is not permitted on a turn-scoped system message ${scoped}`;
  const blocks = listBlocks(message);
  if (blocks.some(({ type }) => type !== 'text')) {
    return `${path}: a turn-scoped system message supports text blocks only ${scoped}`;
  }
  const marked = blocks.findIndex(({ cache_control: control }) => control !== undefined && control !== null);
  if (marked < 0) return undefined;
  return `${path}.content.${marked}: cache_control is not permitted on a turn-scoped system message ${scoped}`;
}

function effortProblem(config: unknown, path: string, profile: ModelProfile | undefined): string | undefined {
  if (config === undefined || config === null) return undefined;
  if (!isObject(config)) return `${path}.output_config: Input should be a valid dictionary`;
  const extra = extraKeyProblem(config, new Set(['effort']), `${path}.output_config`);
  if (extra !== undefined) return extra;
  if (!isEffort(config['effort'])) return `${path}.${EFFORT_PROBLEM}`;
  return profile?.messageEffort === false ? `${path}.output_config: not supported on this model` : undefined;
}

function contentProblem(message: Json, path: string): string | undefined {
  const { content } = message;
  if (content !== undefined && typeof content !== 'string' && !Array.isArray(content)) {
    return `${path}.content: Input should be a valid string or a valid list`;
  }
  if (content === undefined || content.length === 0) {
    return isEffortSet(message) ? undefined : `${path}: system content must contain at least one block`;
  }
  if (typeof content === 'string') return sayingProblem(content, path);
  return firstProblem(content as readonly unknown[], (block, at) => {
    if (!isObject(block))
      return `${path}.content.${at}: Input should be a valid dictionary or object to extract fields from`;
    if (block['type'] === 'text') return textProblem(block, `${path}.content.${at}`);
    if (TOOL_CHANGES.includes(block['type'])) return undefined;
    return `${path}: role 'system' supports text, tool_addition, and tool_removal blocks only`;
  });
}

function isEffortSet({ output_config: config }: Json): boolean {
  return isObject(config) && config['effort'] !== undefined && config['effort'] !== null;
}

export function isTurnScoped(message: object): boolean {
  return (message as Json)['clear_at'] === 'next_user_message';
}

/**
 * Tells whether a message sets the effort and says nothing: it may stand anywhere, and the rest is
 * judged as if it were absent.
 */
export function isSilent({ role, content }: Message): boolean {
  return role === 'system' && (content === undefined || content.length === 0);
}

export function listBlocks({ content }: { readonly content?: unknown }): readonly Json[] {
  return Array.isArray(content) ? (content as unknown[]).filter(isObject) : [];
}
