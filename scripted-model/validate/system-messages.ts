// Checks messages of the role `system`: which models take them, where they may stand, what they may
// hold.
import type { ModelProfile } from '../models/model-profile.ts';
import { EFFORT_PROBLEM, isEffort } from './output-config.ts';
import { BETAS } from './betas.ts';
import { extraKey, firstProblem, isObject, sayingProblem, textProblem, type Json } from './shape.ts';

type Message = { readonly role: string; readonly content?: string | readonly Json[] };

const TOOL_CHANGES: readonly unknown[] = ['tool_addition', 'tool_removal'];

export function systemMessageProblem(
  message: Json,
  path: string,
  betas: readonly string[],
  profile: ModelProfile | undefined,
): string | undefined {
  const clears = betas.includes(BETAS.clearAt) ? ['clear_at'] : [];
  const configures = betas.includes(BETAS.messageEffort) ? ['output_config'] : [];
  const extra = extraKey(message, new Set(['role', 'content', ...clears, ...configures]), path);
  if (extra !== undefined) return extra;
  if (profile?.systemMessages === false) return "role 'system' is not supported on this model";
  return (
    clearAtProblem(message['clear_at'], path) ??
    turnScopedProblem(message, path) ??
    effortProblem(message['output_config'], path, profile) ??
    contentProblem(message, path)
  );
}

/** Of a message of another role. */
export function strayClearAt(message: Json, path: string, betas: readonly string[]): string | undefined {
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
  const blocks = blocksIn(message);
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
  const extra = extraKey(config, new Set(['effort']), `${path}.output_config`);
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
    return setsEffort(message) ? undefined : `${path}: system content must contain at least one block`;
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

function setsEffort({ output_config: config }: Json): boolean {
  return isObject(config) && config['effort'] !== undefined && config['effort'] !== null;
}

export function isTurnScoped(message: object): boolean {
  return (message as Json)['clear_at'] === 'next_user_message';
}

/**
 * A message that sets the effort and says nothing: it may stand anywhere, and the rest is judged as
 * if it were not there.
 */
export function saysNothing({ role, content }: Message): boolean {
  return role === 'system' && (content === undefined || content.length === 0);
}

function blocksIn({ content }: { readonly content?: unknown }): readonly Json[] {
  return Array.isArray(content) ? (content as unknown[]).filter(isObject) : [];
}

// Where they may stand. Those that follow one another are judged as one, by what stands before the
// first and after the last.

const ANYWHERE = '; the directive-only form (content: [] with output_config) is accepted at any position';

export function placementProblem(messages: readonly Message[]): string | undefined {
  for (let first = 0; first < messages.length; first += 1) {
    if (messages[first]?.role !== 'system') continue;
    let end = first;
    while (messages[end]?.role === 'system') end += 1;
    const group = messages.slice(first, end);
    const problem = group.every(saysNothing) ? undefined : groupProblem(messages, group, first, end);
    if (problem !== undefined) return problem;
    first = end;
  }
  return undefined;
}

function groupProblem(
  messages: readonly Message[],
  group: readonly Message[],
  first: number,
  end: number,
): string | undefined {
  const [before, after] = [messages[first - 1], messages[end]];
  if (before === undefined) {
    return `messages.${first}: use the top-level 'system' parameter for the initial system prompt${ANYWHERE}`;
  }
  const paused = before.role === 'assistant' && endsInServerResult(before);
  if (before.role !== 'user' && !paused) {
    return `messages.${first}: role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result${ANYWHERE}`;
  }
  if (after !== undefined && after.role !== 'assistant') {
    return `messages.${end - 1}: role 'system' must precede an 'assistant' message or end the array${ANYWHERE}`;
  }
  const changes = group.findIndex((message) => blocksIn(message).some(({ type }) => TOOL_CHANGES.includes(type)));
  if (!paused || changes < 0) return undefined;
  return `messages.${first + changes}: tool_addition and tool_removal blocks cannot follow a paused 'assistant' message`;
}

function endsInServerResult(message: Message): boolean {
  const type = String(blocksIn(message).at(-1)?.['type']);
  return type !== 'tool_result' && type.endsWith('_tool_result');
}
