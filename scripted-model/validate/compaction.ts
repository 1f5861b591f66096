// Checks compaction on demand: the request for a summary, and the signed block that later requests
// begin with.
import { findChangedPart, readCompaction } from '../compaction/blocks.ts';
import { findProfile } from '../models/profiles.ts';
import { BETAS } from './betas.ts';
import { problemWithCode, extraKeyProblem, firstProblem, isObject, type Json, type RequestProblem } from './shape.ts';

const MOST_INSTRUCTIONS = 16_384;
const blockKeys = new Set(['type', 'content', 'encrypted_content', 'signature', 'tool_changes', 'cache_control']);

export function isSummaryRequest(request: object): boolean {
  const { compaction } = request as Json;
  return compaction !== undefined && compaction !== null;
}

/** Checks the request for a summary. `counting`: count_tokens takes the field and ignores it. */
export function compactionRequestProblem(
  request: Json,
  betas: readonly string[],
  counting: boolean,
): RequestProblem | undefined {
  if (!isSummaryRequest(request)) return undefined;
  if (!betas.includes(BETAS.compaction)) return `\`compaction\` parameter requires anthropic-beta: ${BETAS.compaction}`;
  const { compaction } = request;
  if (!isObject(compaction)) return 'compaction: Input should be a valid dictionary';
  if (compaction['type'] !== 'summarize') {
    return "compaction: Input tag found using 'type' does not match any of the expected tags: 'summarize'";
  }
  const { instructions = '' } = compaction;
  const extra = extraKeyProblem(compaction, new Set(['type', 'instructions']), 'compaction.summarize');
  if (extra !== undefined) return extra;
  if (typeof instructions === 'string' && instructions.length > MOST_INSTRUCTIONS) {
    return `compaction.summarize.instructions: String should have at most ${MOST_INSTRUCTIONS} characters`;
  }
  return counting ? undefined : (companionProblem(request) ?? conversationProblem(request));
}

function companionProblem(request: Json): string | undefined {
  if (findProfile(String(request['model']))?.compaction === false) return 'compaction: not supported on this model';
  const { stop_sequences: stops, output_config: config, tool_choice: choice, context_management: management } = request;
  const found = [
    ...(isSet(management) ? ['context_management'] : []),
    ...(Array.isArray(stops) && stops.length > 0 ? ['stop_sequences'] : []),
    ...(isObject(config) && isSet(config['format']) ? ['output_config.format'] : []),
    ...(isObject(choice) && ['any', 'tool'].includes(String(choice['type'])) ? ['tool_choice'] : []),
    ...(hasRemaining(request) ? ['output_config.task_budget.remaining'] : []),
  ];
  return found.length === 0 ? undefined : `\`compaction\` cannot be combined with \`${found[0]}\``;
}

function conversationProblem({ messages }: Json): RequestProblem | undefined {
  if (!Array.isArray(messages)) return undefined;
  const turns = (messages as unknown[]).filter(
    (message) => isObject(message) && message['role'] !== 'system',
  ) as Json[];
  if (turns.length === 0) {
    return problemWithCode(
      'messages: no `user` or `assistant` content to summarize',
      'compaction_nothing_to_summarize',
    );
  }
  const last = turns.at(-1);
  const open = last?.['role'] === 'assistant' && listBlocks(last).some(({ type }) => type === 'tool_use');
  if (!open) return undefined;
  const at = messages.indexOf(last);
  return problemWithCode(
    `messages.${at}: the last \`assistant\` turn is not finished: send its tool results first`,
    'compaction_incomplete_turn',
  );
}

function hasRemaining({ output_config: config }: Json): boolean {
  const budget = isObject(config) ? config['task_budget'] : undefined;
  return isObject(budget) && isSet(budget['remaining']);
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

type FoundBlock = { readonly block: Json; readonly path: string };

export function compactionBlockProblem(request: Json, betas: readonly string[]): RequestProblem | undefined {
  const messages = request['messages'] as readonly Json[];
  const found = messages.flatMap((message, index): FoundBlock[] =>
    listBlocks(message).flatMap((block, at): FoundBlock[] =>
      block['type'] === 'compaction' ? [{ block, path: `messages.${index}.content.${at}` }] : [],
    ),
  );
  const shapeless = firstProblem(found, ({ block, path }) => blockProblem(block, path, request, betas));
  if (shapeless !== undefined) return shapeless;
  const signed = found.filter(({ block }) => isSet(block['content']) && isSet(block['signature']));
  const [first] = signed;
  if (first === undefined) return undefined;
  if (signed.length > 1) {
    return problemWithCode(
      'messages: only one `compaction` block with content may be sent: the newest',
      'compaction_block_ambiguous',
    );
  }
  if (first.path !== 'messages.0.content.0') {
    const what = '`compaction` block must be sent first, in place of the messages it summarizes; remove those messages';
    return problemWithCode(`${first.path}: ${what}`, 'compaction_block_misplaced');
  }
  return signatureProblem(first) ?? besideProblem(request);
}

function blockProblem(block: Json, path: string, request: Json, betas: readonly string[]): string | undefined {
  const { content, signature } = block;
  const [onDemand, threshold] = [betas.includes(BETAS.compaction), betas.includes(BETAS.thresholdCompaction)];
  if (!onDemand && !threshold)
    return `${path}: Input tag 'compaction' found using 'type' is not one of the expected content block types`;
  const extra = extraKeyProblem(block, blockKeys, `${path}.compaction`);
  if (extra !== undefined || !isSet(content)) return extra;
  if (typeof content !== 'string') return `${path}.compaction.content: Input should be a valid string`;
  if (content === '') return `${path}.compaction.content: String should have at least 1 character`;
  if (isSet(signature))
    return onDemand ? undefined : `${path}.compaction: \`signature\` requires anthropic-beta: ${BETAS.compaction}`;
  if (!threshold) return `${path}: a \`compaction\` block with \`content\` requires its \`signature\``;
  return hasThresholdEdit(request)
    ? undefined
    : '`compaction` blocks require a `compact_20260112` strategy in `context_management.edits`.';
}

function signatureProblem({ block, path }: FoundBlock): RequestProblem | undefined {
  if (readCompaction(block) === undefined) {
    return problemWithCode(`${path}: Invalid \`signature\` in \`compaction\` block`, 'compaction_signature_invalid');
  }
  const changed = findChangedPart(block);
  if (changed === undefined) return undefined;
  const code = changed === 'content' ? 'compaction_content_mismatch' : 'compaction_tool_changes_mismatch';
  return problemWithCode(
    `${path}: \`${changed}\` of the \`compaction\` block differs from what its \`signature\` recorded`,
    code,
  );
}

function besideProblem(request: Json): string | undefined {
  if (hasRemaining(request))
    return '`output_config.task_budget.remaining` cannot be combined with a `compaction` block';
  return hasThresholdEdit(request)
    ? '`compact_20260112` cannot be combined with a signed `compaction` block'
    : undefined;
}

function hasThresholdEdit({ context_management: management }: Json): boolean {
  const edits = isObject(management) ? management['edits'] : undefined;
  return Array.isArray(edits) && edits.some((edit) => isObject(edit) && edit['type'] === 'compact_20260112');
}

function listBlocks({ content }: Json): readonly Json[] {
  return Array.isArray(content) ? (content as unknown[]).filter(isObject) : [];
}
