// Handles one request from its headers to the end of its answer: routes it, lets it in, asks the
// script, plays the reply.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { admitRequest, readBetas, type AdmissionRules, type AdmittedRequest } from './admit.ts';
import { readBody } from './read-request.ts';
import { buildApiError, buildErrorData, buildErrorHeaders, buildInvalidRequest, type ApiError } from './api-error.ts';
import { deliverReply, answerByFault } from './answer/delivery.ts';
import { buildAnswer, type ThinkingDisplay } from './answer/message-for.ts';
import { pauseFor, playActions, type Action } from './answer/playback.ts';
import type { PromptCache } from './prompt-cache.ts';
import { listPromptBlocks, countPromptTokens } from './prompt-blocks.ts';
import type { RecordedRequest, Recorder } from './recorder.ts';
import type { Reply } from './script.ts';
import type { ScriptRunner } from './script-runner.ts';
import type { Bindings } from './thinking/bindings.ts';
import { headerProblem, BETAS } from './validate/betas.ts';
import {
  EFFORTS,
  findProfile,
  listProfiles,
  type ModelProfile,
  type ProfileEffort,
  type ThinkingType,
} from './models/profiles.ts';

type ServerParts = {
  readonly run: ScriptRunner;
  readonly records: Recorder;
  readonly cache: PromptCache;
  readonly bindings: Bindings;
  readonly rules: AdmissionRules;
  readonly display: ThinkingDisplay | undefined;
  readonly problem: (what: string) => void;
  readonly log: (line: string) => void;
};

/** A response and its context. */
type Exchange = { readonly response: ServerResponse; readonly closed: AbortSignal; readonly requestId: string };

export function createRequestHandler(parts: ServerParts): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const closed = new AbortController();
    response.on('close', () => closed.abort());
    response.on('error', () => closed.abort());
    const requestId = `req_scripted_${randomUUID().replaceAll('-', '')}`;
    const exchange: Exchange = { response, closed: closed.signal, requestId };
    routeRequest(parts, request, exchange).catch((error: unknown) => {
      parts.problem(`scripted model: a defect of its own: ${String(error)}`);
      if (response.headersSent) response.destroy();
      else answerError(exchange, buildApiError(500, String(error)));
    });
  };
}

async function routeRequest(parts: ServerParts, request: IncomingMessage, exchange: Exchange): Promise<void> {
  const [path = '/', search = ''] = (request.url ?? '/').split('?');
  const route = `${request.method} ${path}`;
  if (route === 'POST /v1/messages') return answerMessages(parts, request, exchange);
  if (route === 'POST /v1/messages/count_tokens') return answerCount(parts, request, exchange);
  const found = answerModels(route, search, parts.rules, readBetas(request.headers));
  const refusal = found === undefined ? buildApiError(404, `Not found: ${route}`) : headerProblem(request.headers);
  request.resume();
  if (found !== undefined && refusal === undefined) answerJson(exchange, 200, found);
  else answerError(exchange, refusal ?? buildApiError(404));
  parts.log(`${route} → ${exchange.response.statusCode}`);
}

/** Answers the Models API; undefined for another path. */
function answerModels(
  route: string,
  search: string,
  limits: ServedLimits,
  betas: readonly string[],
): object | undefined {
  if (route === 'GET /v1/models') return listModels(search, limits, betas);
  const id = /^GET \/v1\/models\/([^/]+)$/.exec(route)?.[1];
  return id === undefined ? undefined : describeModel(decodeName(id), limits, betas);
}

/**
 * Decodes a name; one that is not well encoded is taken as it is, because no model is called so.
 */
function decodeName(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

async function answerCount(parts: ServerParts, request: IncomingMessage, exchange: Exchange): Promise<void> {
  const body = await readBody(request);
  if (body.kind === 'left') return;
  const admission = admitRequest(
    request.headers,
    body,
    { ...parts.rules, window: undefined, counting: true },
    parts.bindings,
  );
  if (admission.kind === 'admitted') {
    answerJson(exchange, 200, { input_tokens: countPromptTokens(listPromptBlocks(admission.visible)) });
  } else {
    if (admission.misshapen) parts.problem(`count_tokens: ${admission.error.message}`);
    answerError(exchange, admission.error);
  }
  parts.log(`POST /v1/messages/count_tokens → ${exchange.response.statusCode}`);
}

async function answerMessages(parts: ServerParts, request: IncomingMessage, exchange: Exchange): Promise<void> {
  const record = parts.records.begin(request.headers);
  const body = await readBody(request);
  if (body.kind === 'left') {
    record.ended = 'left';
    return;
  }
  const admission = admitRequest(request.headers, body, { ...parts.rules, counting: false }, parts.bindings);
  record.body = admission.kind === 'admitted' ? admission.request : admission.body;
  parts.records.arrived(record);
  if (admission.kind === 'admitted') await answerFromScript(parts, admission, record, exchange);
  else {
    if (admission.misshapen) parts.problem(`request ${record.n}: ${admission.error.message}`);
    refuse(exchange, record, admission.error);
  }
  const step = record.step === null ? '' : `, replies.${record.step}`;
  parts.log(`POST /v1/messages → ${record.status ?? 'no answer'} (request ${record.n}${step}, ${record.ended})`);
}

async function answerFromScript(
  parts: ServerParts,
  admitted: AdmittedRequest,
  record: RecordedRequest,
  exchange: Exchange,
): Promise<void> {
  const answer = await parts.run(admitted.request, `request ${record.n}`);
  if (answer.kind === 'broken') return reportBrokenScript(parts, exchange, record, answer.why);
  const { reply } = answer;
  record.step = answer.step;
  if (reply.delayMs !== undefined) await pauseFor(reply.delayMs, exchange.closed);
  const instead = answerByFault(reply.fault);
  if (instead === undefined) return answerMessage(parts, { admitted, reply }, record, exchange);
  if (instead.kind === 'error') return refuse(exchange, record, instead.error);
  const action: Action = instead.kind === 'silence' ? { do: 'silence' } : { do: 'cut' };
  record.ended = await playActions(exchange.response, [action], exchange.closed);
}

async function answerMessage(
  parts: ServerParts,
  { admitted, reply }: { readonly admitted: AdmittedRequest; readonly reply: Reply },
  record: RecordedRequest,
  exchange: Exchange,
): Promise<void> {
  const { request, visible } = admitted;
  const { bindings, display } = parts;
  const message = buildAnswer({ admitted, cache: parts.cache.use(visible), bindings, display }, reply);
  const stream = request.stream === true;
  const delivery = deliverReply(reply, message, stream);
  if (delivery.kind === 'broken') return reportBrokenScript(parts, exchange, record, delivery.why);
  record.status = 200;
  exchange.response.writeHead(200, {
    'content-type': stream ? 'text/event-stream; charset=utf-8' : 'application/json',
    'request-id': exchange.requestId,
    ...(stream ? { 'cache-control': 'no-cache' } : {}),
  });
  if (delivery.actions[0]?.do !== 'write') exchange.response.flushHeaders();
  record.ended = await playActions(exchange.response, delivery.actions, exchange.closed);
}

/**
 * Reports that the script cannot answer: a 400, which no client retries, and a problem for the test
 * to see.
 */
function reportBrokenScript(parts: ServerParts, exchange: Exchange, record: RecordedRequest, why: string): void {
  parts.problem(why);
  refuse(exchange, record, buildInvalidRequest(why));
}

function refuse(exchange: Exchange, record: RecordedRequest, error: ApiError): void {
  record.ended = exchange.closed.aborted ? 'left' : 'finished';
  record.status = error.status;
  answerError(exchange, error);
}

function answerError(exchange: Exchange, error: ApiError): void {
  const { status, type, message, details } = error;
  answerJson(exchange, status, buildErrorData(type, message, exchange.requestId, details), buildErrorHeaders(error));
}

function answerJson(exchange: Exchange, status: number, body: object, headers: Record<string, string> = {}): void {
  const { response, requestId } = exchange;
  response.writeHead(status, { 'content-type': 'application/json', ...headers, 'request-id': requestId });
  response.end(JSON.stringify(body));
}

type ServedLimits = { readonly window: number | undefined; readonly maxOutputTokens: number | undefined };

const USUAL_WINDOW = 200_000;
const USUAL_OUTPUT = 64_000;
const KINDS: readonly ThinkingType[] = ['adaptive', 'between_tools', 'disabled', 'enabled'];

/** Answers for one model. An alias is answered with the id it stands for. */
function describeModel(name: string, limits: ServedLimits, betas: readonly string[]): object {
  const profile = findProfile(name);
  if (profile !== undefined) return describeDocumented(profile, limits, betas);
  return {
    type: 'model',
    id: name,
    display_name: `${name} (scripted)`,
    created_at: '1970-01-01T00:00:00Z',
    max_input_tokens: limits.window ?? USUAL_WINDOW,
    max_tokens: limits.maxOutputTokens ?? USUAL_OUTPUT,
    capabilities: null,
    lifecycle: 'active',
    deprecated_at: null,
    retires_at: null,
    line: null,
  };
}

/**
 * Lists the models. `search` is the text after `?`. Retired models are listed when they are asked
 * for.
 */
function listModels(search: string, limits: ServedLimits, betas: readonly string[]): object {
  const query = new URLSearchParams(search);
  const requested = [...query.getAll('lifecycle'), ...query.getAll('lifecycle[]')];
  const stages = requested.length === 0 ? ['active', 'deprecated'] : requested;
  const all = listProfiles().filter(({ lifecycle }) => stages.includes(lifecycle));
  const from = all.findIndex(({ id }) => id === query.get('after_id')) + 1;
  const page = all.slice(from, from + Number(query.get('limit') ?? 20));
  return {
    data: page.map((profile) => describeDocumented(profile, limits, betas)),
    has_more: from + page.length < all.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  };
}

function describeDocumented(profile: ModelProfile, limits: ServedLimits, betas: readonly string[]): object {
  const { id, line, released, lifecycle, retires, fallbacks } = profile;
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: `${released}T00:00:00Z`,
    max_input_tokens: limits.window ?? profile.window,
    max_tokens: limits.maxOutputTokens ?? profile.maxOutput,
    capabilities: listCapabilities(profile, betas),
    lifecycle,
    deprecated_at: null,
    retires_at: retires === null ? null : `${retires}T00:00:00Z`,
    line,
    ...(betas.length === 0 ? {} : { allowed_fallback_models: fallbacks }),
  };
}

const markSupported = (supported: boolean) => ({ supported });

function listCapabilities({ thinking, efforts, compaction }: ModelProfile, betas: readonly string[]): object {
  const levels = EFFORTS.map((effort): [ProfileEffort, object] => [effort, markSupported(efforts.includes(effort))]);
  const summaries = { ...markSupported(compaction), summarize: markSupported(compaction) };
  const clears = markSupported(true);
  return {
    batch: markSupported(true),
    citations: markSupported(true),
    code_execution: markSupported(true),
    context_management: {
      ...markSupported(true),
      clear_thinking_20251015: clears,
      clear_tool_uses_20250919: clears,
      compact_20260112: markSupported(compaction),
    },
    effort: { ...markSupported(efforts.length > 0), ...Object.fromEntries(levels) },
    image_input: markSupported(true),
    pdf_input: markSupported(true),
    server_tools: { ...markSupported(true), code_execution: markSupported(true), web_search: markSupported(true) },
    structured_outputs: markSupported(true),
    thinking: {
      ...markSupported(true),
      types: Object.fromEntries(KINDS.map((kind) => [kind, markSupported(thinking.includes(kind))])),
    },
    ...(betas.includes(BETAS.compaction) ? { compaction: summaries } : {}),
  };
}
