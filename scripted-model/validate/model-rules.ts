// Checks what one model refuses and another takes: kinds of thinking, effort, forced tools,
// sampling, fallbacks. Nothing is refused here for a model that the documents do not name.
import type { ProfileEffort, ModelProfile, ThinkingType } from '../models/model-profile.ts';
import { EFFORTS } from '../models/table.ts';
import { firstProblem, isObject, type Json } from './shape.ts';

const SAMPLING = ['temperature', 'top_p', 'top_k'];

export function modelRuleProblem(request: Json, profile: ModelProfile | undefined): string | undefined {
  if (profile === undefined) return undefined;
  const { thinking, output_config: config, tool_choice: choice } = request;
  const type = isObject(thinking) ? (thinking['type'] as ThinkingType) : undefined;
  const effort = isObject(config) ? (config['effort'] as ProfileEffort | null | undefined) : undefined;
  return (
    (type === undefined ? undefined : typeProblem(type, profile)) ??
    levelProblem(effort ?? undefined, 'output_config.effort', profile) ??
    offProblem(type, effort ?? undefined, profile) ??
    toolChoiceProblem(choice, profile) ??
    samplingProblem(request, profile) ??
    messageEffortProblem(request, type, effort ?? undefined, profile)
  );
}

function typeProblem(type: ThinkingType, profile: ModelProfile): string | undefined {
  if (profile.thinking.includes(type)) return undefined;
  if (type === 'adaptive') return 'adaptive thinking is not supported on this model';
  const instead = profile.thinking.includes('between_tools')
    ? 'Use "thinking.type.between_tools" to turn thinking off before tool calls.'
    : 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.';
  return `"thinking.type.${type}" is not supported for this model.${type === 'between_tools' ? '' : ` ${type === 'enabled' ? ADAPT : instead}`}`;
}

const ADAPT = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.';

function levelProblem(effort: ProfileEffort | undefined, path: string, { efforts }: ModelProfile): string | undefined {
  if (effort === undefined || efforts.includes(effort)) return undefined;
  if (efforts.length === 0) return 'This model does not support the effort parameter.';
  return `${path}: '${effort}' is not supported for this model. Supported levels: ${efforts.join(', ')}`;
}

function offProblem(
  type: ThinkingType | undefined,
  effort: ProfileEffort | undefined,
  profile: ModelProfile,
): string | undefined {
  if (type !== 'disabled' && type !== 'between_tools') return undefined;
  if (effort === undefined || EFFORTS.indexOf(effort) <= EFFORTS.indexOf(profile.offUpTo)) return undefined;
  return `output_config.effort: '${effort}' is not supported with "thinking.type.${type}" for this model`;
}

function toolChoiceProblem(choice: unknown, { forcedTools }: ModelProfile): string | undefined {
  const forces = isObject(choice) && ['any', 'tool'].includes(String(choice['type']));
  return forces && !forcedTools ? 'tool_choice: type "tool" and "any" are not supported for this model.' : undefined;
}

function samplingProblem(request: Json, { sampling }: ModelProfile): string | undefined {
  const sent = SAMPLING.find((key) => request[key] !== undefined && request[key] !== null);
  return sent === undefined || sampling ? undefined : `${sent}: not supported for this model`;
}

/** Checks the effort of messages. With thinking between tools only, the level may not change. */
function messageEffortProblem(
  { messages }: Json,
  type: ThinkingType | undefined,
  effort: ProfileEffort = 'high',
  profile: ModelProfile,
): string | undefined {
  if (!Array.isArray(messages)) return undefined;
  return firstProblem(messages as unknown[], (message, index) => {
    const config = isObject(message) ? message['output_config'] : undefined;
    const level = isObject(config) ? (config['effort'] as ProfileEffort | null | undefined) : undefined;
    if (level === undefined || level === null || !EFFORTS.includes(level)) return undefined;
    const path = `messages.${index}.output_config.effort`;
    const other = type === 'between_tools' && level !== effort;
    return other ? `${path}: cannot change with "thinking.type.between_tools"` : levelProblem(level, path, profile);
  });
}
