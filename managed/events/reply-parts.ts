// The events of one reply, in their order (G34, G35): spans of attempts that died, the span of the
// attempt that was stored, and in it the thinking, the text and the calls.
import { AGENT_TOOL, noUsage } from '../../client/faces/contract.ts';
import type { ReplyEntry } from '../../client/faces/types.ts';
import { isRepeated } from '../../client/faces/words.ts';
import { spanUsage } from './outcome-parts.ts';
import { type Part, type Projection, type ReplyCall, type ReplyPlace, replyPartId } from './parts.ts';

/** A step that was retried for hours has as many attempts: only the newest are reported. */
const MOST_DEAD = 20;

type ReplyParts = { readonly parts: readonly Part[]; readonly calls: Readonly<Record<number, ReplyCall>> };

export function replyParts(projection: Projection, place: ReplyPlace, entry: ReplyEntry): ReplyParts {
  const name: Name = (...part) => replyPartId(projection, place, ...part);
  const first = Math.max(1, entry.attempt - MOST_DEAD);
  const dead = Array.from({ length: entry.attempt - first }, (_, at) => first + at);
  const calls = callsOf(entry);
  const parts = [
    ...dead.flatMap((attempt) => [spanStart(name, attempt), spanEnd(name, attempt, null)]),
    spanStart(name, entry.attempt),
    ...thinkingParts(name, entry),
    ...messageParts(name, entry),
    ...calls.flatMap(([index, call]) => (call.state === 'quiet' ? [] : [callPart(name('call', index), call)])),
    spanEnd(name, entry.attempt, entry),
  ];
  return { parts, calls: Object.fromEntries(calls) };
}

type Name = (...part: (string | number)[]) => string;

/**
 * Only the first of two calls with one id counts (L39). A custom call is reported once it waits,
 * and one that delegates to an agent when its thread begins.
 */
function callsOf(entry: ReplyEntry): readonly (readonly [index: number, call: ReplyCall])[] {
  return entry.message.content.flatMap((block, index): (readonly [number, ReplyCall])[] => {
    if (block.type !== 'tool_use' || isRepeated(entry, index)) return [];
    const judgement = entry.judged?.[index];
    const isQuiet = judgement === 'custom' || (block.name === AGENT_TOOL && judgement === 'allow');
    const state = isQuiet ? 'quiet' : 'told';
    return [[index, { name: block.name, input: block.input as Record<string, unknown>, judged: judgement, state }]];
  });
}

function spanStart(name: Name, attempt: number): Part {
  const type = 'span.model_request_start';
  return { id: name('start', attempt), type, make: (about) => ({ ...about, type }) };
}

/** `entry`: null for an attempt that died. */
function spanEnd(name: Name, attempt: number, entry: ReplyEntry | null): Part {
  const type = 'span.model_request_end';
  const model_usage = spanUsage(entry?.spend.usage ?? noUsage);
  const is_error = entry === null;
  const model_request_start_id = name('start', attempt);
  return {
    id: name('end', attempt),
    type,
    make: (about) => ({ ...about, type, is_error, model_request_start_id, model_usage }),
  };
}

/** A signal without words, once a reply. */
function thinkingParts(name: Name, { message, attempt }: ReplyEntry): readonly Part[] {
  const type = 'agent.thinking';
  if (!message.content.some((block) => block.type === 'thinking' || block.type === 'redacted_thinking')) return [];
  return [{ id: name('thinking', attempt), type, make: (about) => ({ ...about, type }) }];
}

function messageParts(name: Name, { message, attempt }: ReplyEntry): readonly Part[] {
  const type = 'agent.message';
  const content = message.content.flatMap((block) =>
    block.type === 'text' && block.text !== '' ? [{ type: 'text' as const, text: block.text }] : [],
  );
  if (content.length === 0) return [];
  return [{ id: name('message', attempt), type, make: (about) => ({ ...about, type, content }) }];
}

/** Tools of MCP servers are named `mcp__server__tool`. */
const SERVER_PREFIX = 'mcp__';

export function callPart(id: string, { name: tool, input: sent, judged }: Omit<ReplyCall, 'state'>): Part {
  const input = { ...sent };
  const permission = judged && judged !== 'custom' ? { evaluated_permission: judged } : {};
  const end = tool.indexOf('__', SERVER_PREFIX.length + 1);
  if (!tool.startsWith(SERVER_PREFIX) || end < 0 || end + 2 === tool.length) {
    const type = 'agent.tool_use';
    return { id, type, make: (about) => ({ ...about, type, name: tool, input, ...permission }) };
  }
  const type = 'agent.mcp_tool_use';
  const [mcp_server_name, name] = [tool.slice(SERVER_PREFIX.length, end), tool.slice(end + 2)];
  return { id, type, make: (about) => ({ ...about, type, mcp_server_name, name, input, ...permission }) };
}
