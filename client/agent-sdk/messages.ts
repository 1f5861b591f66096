// Builds the SDK messages of a session. Stored entries become `assistant`, `user` and
// `compact_boundary`, each with an id that follows from its position in the transcript, so that
// every reading yields the same ids.
import type { UUID } from 'node:crypto';
import type { Entry, ReplyEntry, RunOutcome, TerminalReason, Usage } from '../faces/types.ts';
import { addSpend, noSpend, noUsage } from '../faces/contract.ts';
import { roundUsd, WEB_SEARCH } from '../faces/words.ts';
import { runDefaults, isListed, countSearches } from '../faces/tools.ts';
import { present } from '../faces/basics.ts';
import { VERSION } from '../faces/start.ts';
import { parseBaseName, catalogue } from '../../models/catalogue.ts';
import { COMMANDS } from './commands.ts';
import { asksForSearch, inwardName, outwardInput, outwardName, SESSION_TOOLS } from './names.ts';
import { resultMessages } from './tool-responses.ts';
import { asksForSkills } from './skills.ts';
import type { ModelSpend } from './tasks/session-spend.ts';
import { serverStatuses, programTools } from './tools.ts';
import { uuidOf } from './values.ts';
import type {
  ModelUsage,
  SDKAssistantMessage,
  SDKMessage,
  SDKResultMessage,
  TerminalReason as TheirReason,
} from './shapes/messages.ts';
import type { Options } from './shapes/options.ts';
import type { SDKPermissionDenial } from './shapes/facts.ts';
import type { SDKCompactBoundaryMessage, SDKSystemMessage } from './shapes/system-messages.ts';

/** Returns the messages for an entry, maybe none. `reply` is the last one before it. */
export function messagesOfEntry(
  session: string,
  entry: Entry,
  position: number,
  reply: ReplyEntry | null,
): readonly SDKMessage[] {
  const common = { session_id: session, uuid: uuidOf(session, position), parent_tool_use_id: null } as const;
  switch (entry.kind) {
    case 'reply':
      return [{ type: 'assistant', message: outwardMessage(entry), ...common } satisfies SDKAssistantMessage];
    case 'outcomes':
      return resultMessages(session, entry.outcomes, position, reply);
    case 'boundary': {
      const { parent_tool_use_id: _, ...ids } = common;
      const trigger: 'manual' | 'auto' = entry.trigger === 'manual' ? 'manual' : 'auto';
      const compaction = { trigger, pre_tokens: entry.before, post_tokens: entry.after };
      const message: SDKCompactBoundaryMessage = {
        type: 'system',
        subtype: 'compact_boundary',
        compact_metadata: compaction,
        ...ids,
      };
      return [message];
    }
    default:
      return [];
  }
}

export function outwardMessage({ message }: ReplyEntry): SDKAssistantMessage['message'] {
  const content = message.content.map((block) =>
    block.type === 'tool_use'
      ? { ...block, name: outwardName(block.name), input: outwardInput(block.name, block.input) }
      : block,
  );
  return { ...message, content } as SDKAssistantMessage['message'];
}

const SUBTYPES: Partial<Record<TerminalReason, Exclude<SDKResultMessage['subtype'], 'success'>>> = {
  max_turns: 'error_max_turns',
  budget_exceeded: 'error_max_budget_usd',
  structured_output_failed: 'error_max_structured_output_retries',
};

const REASONS: Partial<Record<TerminalReason, TheirReason>> = {
  budget_exceeded: 'budget_exhausted',
  structured_output_failed: 'structured_output_retry_exhausted',
};

/**
 * `entries` are the run's. `spendByModel` has what the session and its agents have spent so far.
 */
export function resultMessage(
  outcome: RunOutcome,
  entries: readonly Entry[],
  spendByModel: ReadonlyMap<string, ModelSpend>,
): SDKResultMessage {
  const { sessionId, run, reason, turns, text, durationMs, detail, output } = outcome;
  const replies = entries.filter((entry) => entry.kind === 'reply');
  const facts = {
    type: 'result',
    session_id: sessionId,
    uuid: uuidOf(sessionId, 'result', run),
    duration_ms: durationMs,
    duration_api_ms: durationMs,
    num_turns: turns,
    stop_reason: replies.at(-1)?.message.stop_reason ?? null,
    total_cost_usd: roundUsd([...spendByModel.values()].reduce((sum, { spend: { usd } }) => sum + (usd ?? 0), 0)),
    usage: usageOf(usageOfReplies(replies), searchesIn(replies)),
    modelUsage: modelUsageOf(spendByModel),
    permission_denials: denialsOf(entries),
    terminal_reason: REASONS[reason] ?? (reason as TheirReason),
  } as const;
  if (reason !== 'completed') {
    const subtype = SUBTYPES[reason] ?? 'error_during_execution';
    return { ...facts, subtype, is_error: true, errors: [detail === undefined ? reason : `${reason}: ${detail}`] };
  }
  const structured = output === undefined ? {} : { structured_output: output };
  const resultText = turns === 0 ? compactionText(entries) : text;
  return { ...facts, subtype: 'success', is_error: false, result: resultText, ...structured };
}

/** Words the result of a run without turns, which only compacts. */
function compactionText(entries: readonly Entry[]): string {
  if (entries.some(({ kind }) => kind === 'boundary')) return '';
  for (const entry of entries)
    if (entry.kind === 'notice' && entry.notice.kind === 'compaction_failed')
      return `Not compacted: ${entry.notice.detail}.`;
  return 'Not compacted: there is nothing to sum up yet.';
}

/** Builds the result that follows a `/clear`, which calls no model. */
export function clearResultMessage(session: string): SDKResultMessage {
  return {
    type: 'result',
    subtype: 'success',
    session_id: session,
    uuid: uuidOf(session, 'cleared'),
    is_error: false,
    result: '',
    duration_ms: 0,
    duration_api_ms: 0,
    num_turns: 0,
    stop_reason: null,
    total_cost_usd: 0,
    usage: usageOf(noUsage, 0),
    modelUsage: {},
    permission_denials: [],
    terminal_reason: 'completed',
  };
}

export function resetMessage(session: string, next: string, by: UUID | undefined): SDKMessage {
  return {
    type: 'conversation_reset',
    session_id: session,
    uuid: uuidOf(session, 'reset', next),
    // Ids of sessions may be any text here.
    new_conversation_id: next as UUID,
    trigger: 'clear',
    ...present({ user_message_uuid: by }),
  };
}

function usageOf(usage: Usage, found: number): SDKResultMessage['usage'] {
  const counts = {
    input_tokens: usage.input,
    output_tokens: usage.output,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
    server_tool_use: { web_search_requests: found, web_fetch_requests: 0 },
    service_tier: 'standard',
  };
  // A run does not sum up the other fields of the type, so they are absent.
  return counts as unknown as SDKResultMessage['usage'];
}

function modelUsageOf(spendByModel: ReadonlyMap<string, ModelSpend>): Record<string, ModelUsage> {
  return Object.fromEntries([...spendByModel].map(([model, each]) => [model, modelUsage(model, each)]));
}

/** Leaves out what agents and the small model used, which `modelUsage` has. */
function usageOfReplies(replies: readonly ReplyEntry[]): Usage {
  return replies.reduce((sum, { spend }) => addSpend(sum, spend), noSpend).usage;
}

function searchesIn(replies: readonly ReplyEntry[]): number {
  return replies.reduce((sum, { message }) => sum + countSearches(message.usage), 0);
}

function modelUsage(model: string, { spend: { usage, usd }, searches: found }: ModelSpend): ModelUsage {
  const { window = 0, maxOutput = 0 } = catalogue.models[parseBaseName(model).base] ?? {};
  return {
    inputTokens: usage.input,
    outputTokens: usage.output,
    cacheReadInputTokens: usage.cacheRead,
    cacheCreationInputTokens: usage.cacheWrite,
    webSearchRequests: found,
    costUSD: usd ?? 0,
    contextWindow: window,
    maxOutputTokens: maxOutput,
  };
}

function denialsOf(entries: readonly Entry[]): SDKPermissionDenial[] {
  let reply: ReplyEntry | null = null;
  const denials: SDKPermissionDenial[] = [];
  for (const entry of entries) {
    if (entry.kind === 'reply') reply = entry;
    if (entry.kind !== 'outcomes') continue;
    for (const { index, toolUseId, log } of entry.outcomes) {
      const block = reply?.message.content[index];
      if (log.decision !== 'denied' || block?.type !== 'tool_use') continue;
      const input = outwardInput(block.name, block.input);
      denials.push({ tool_name: outwardName(block.name), tool_use_id: toolUseId, tool_input: input });
    }
  }
  return denials;
}

/** Builds the first message of each start from the given options. */
export function initMessage(
  session: string,
  options: Options,
  cwd: string,
  skills: readonly string[] = [],
): SDKSystemMessage {
  const { mcpServers = {}, tools, permissionMode = 'default', model = runDefaults.model, agents, effort } = options;
  const listed = Array.isArray(tools) ? tools.map(inwardName) : undefined;
  const known = [
    ...SESSION_TOOLS,
    ...(asksForSearch(options) ? [WEB_SEARCH] : []),
    ...(asksForSkills(options) ? ['skill'] : []),
  ];
  const builtin = known.filter((name) => isListed(listed, name)).map(outwardName);
  const own = programTools(mcpServers).map(({ name }) => name);
  return {
    type: 'system',
    subtype: 'init',
    session_id: session,
    uuid: uuidOf(session, 'init'),
    apiKeySource: 'ANTHROPIC_API_KEY',
    claude_code_version: VERSION,
    cwd,
    tools: [...builtin, ...own],
    mcp_servers: serverStatuses(mcpServers),
    model,
    permissionMode,
    slash_commands: COMMANDS.map(({ name }) => name),
    output_style: 'default',
    skills: [...skills],
    plugins: [],
    ...present({ agents: agents && Object.keys(agents), effort }),
  };
}
