// Answers a question that a person asks aside. The session's own model is sent what the
// conversation sends it, word for word, with the question at the end, so that it reads the prompt
// cache. Nothing is stored, and no call of the answer runs. Attempted twice it asks, and is paid,
// twice.
import type { ContentBlockParam, Message } from '@anthropic-ai/sdk/resources/messages';
import type { AnswerAside, AsideEnd, ModelResult } from '../../workflows/contract/activities.ts';
import type { Hash, MessageId, SessionId } from '../../workflows/contract/ids.ts';
import { type Spend, noSpend } from '../../workflows/contract/loop.ts';
import { LONGEST_ASIDE_ANSWER } from '../../workflows/contract/aside.ts';
import type { Attempt } from '../attempt.ts';
import { openSmallModel, type SummaryDeps } from '../compaction/small-model.ts';
import type { RunConfig } from '../../store/configuration.ts';
import type { Deps } from '../deps.ts';
import type { ModelPort, ModelRequest } from '../model-deps.ts';
import { refuseScriptedModel } from '../guards.ts';
import { askUnwatched } from '../model/ask-model.ts';
import { asServed, buildRequest, type ChosenModel, chooseWithFacts, REFUSABLE } from '../model/request.ts';
import { nextEpoch } from '../model/tell-preamble.ts';
import { openStepRecord } from '../step-record.ts';
import { wellFormedText } from '../../system/text.ts';
import type { Entry } from '../../store/log/entries.ts';
import { currentEpoch, toolsIn } from '../../store/transcript/preamble.ts';
import { NO_OUTCOME } from '../../store/view/notices.ts';
import { messageText } from '../../store/view/result.ts';
import { present } from '../../workflows/contract/present.ts';

type AsideDeps = SummaryDeps & Pick<Deps, 'tools'>;

export function answerAside(deps: AsideDeps): (attempt: Attempt, input: AnswerAside) => Promise<AsideEnd> {
  return async (attempt, input) => {
    const { session } = attempt;
    const newest = await findNewestHead(deps, attempt, input);
    const { head } = newest;
    const last = head && (input.config ?? (await findLastConfig(deps, session, head)));
    if (!last) return asideFailure('the model has not answered yet: ask again when it has', noSpend);
    const config = await deps.config(last);
    refuseScriptedModel(deps, config);
    const chosen = chooseWithFacts(deps.models, config, input.model);
    const body = await buildAsideRequest(deps, session, { config, chosen, input: newest });
    const payer = openSmallModel(deps, attempt, config, { ...input, instead: chosen.model });
    const asks = (model: ModelPort, billed: (spend: Spend) => void): Promise<AsideEnd | AsideStopped> =>
      askModelOnce({ deps, attempt, config, chosen }, body, model, billed);
    const end = await payer.spendOn(chosen.model, asks);
    const spend = payer.spend();
    if (end.kind === 'answered') return { ...end, spend };
    if (end.kind === 'aborted') return asideFailure('it was stopped', spend);
    return asideFailure('failure' in end ? end.failure.detail : end.detail, spend);
  };
}

type AsideStopped = { readonly kind: 'aborted'; readonly spend: Spend };

const asideFailure = (detail: string, spend: Spend) => ({ kind: 'failed', detail, spend }) as const;

/**
 * Finds the configuration of the last run; null where the conversation went back to its beginning.
 */
async function findLastConfig({ transcripts }: SummaryDeps, session: SessionId, head: Hash): Promise<Hash | null> {
  const isStart = (entry: Entry) => entry.kind === 'run_started';
  const near = (await transcripts.view(session, head)).entries.findLast(isStart);
  const found = near ?? (await transcripts.whole(session, head)).entries.findLast(isStart);
  return found?.kind === 'run_started' ? found.config : null;
}

/**
 * Finds the newest head: a reply is stored before its calls run, and its step is over after them.
 */
async function findNewestHead(
  deps: SummaryDeps,
  attempt: Attempt,
  { call, ...input }: AnswerAside,
): Promise<AnswerAside> {
  if (!call) return input;
  const { chain } = await deps.config(call.config);
  const reply = await openStepRecord<ModelResult>(deps.store, attempt, chain, call).read();
  return reply && 'head' in reply ? { ...input, head: reply.head, said: [] } : input;
}

type AsideQuestion = { readonly config: RunConfig; readonly chosen: ChosenModel; readonly input: AnswerAside };

/**
 * Where the conversation has been summed up since the model was last called, or was begun by an
 * older release, the question follows what the next request will begin with.
 */
async function buildAsideRequest(
  deps: AsideDeps,
  session: SessionId,
  { config, chosen, input }: AsideQuestion,
): Promise<ModelRequest> {
  const { transcripts, models } = deps;
  const base = await transcripts.extend(session, input.head, input.said);
  const epoch = nextEpoch(base, { deps, config, chosen, input: {} });
  const extended = epoch ? { ...base, added: [...base.added, epoch] } : base;
  const { system = [] } = currentEpoch(extended)?.epoch ?? {};
  const served = asServed(chosen.model, models);
  const text = wellFormedText(`${ASIDE}\n\n${input.question}`);
  const question: Entry = { kind: 'user', id: 'aside' as MessageId, body: { kind: 'text', text } };
  const withQuestion = { ...extended, added: [...extended.added, question] };
  const { messages, system: besides } = await transcripts.messages(withQuestion, served);
  const preamble = { system, tools: toolsIn(extended, served.telling) };
  const cap = input.cap ?? config.rules.models[0].outputCap;
  const { taskRemaining } = input;
  const canBind = !models.isRefused(chosen.model.name, REFUSABLE.binding);
  const parts = { preamble, messages, system: besides, cap, canBind, ...present({ taskRemaining }) };
  return endRequest(buildRequest(config, chosen, parts));
}

/**
 * Marks the request as one that is not continued: the cache is read up to the question and not
 * written for it. Calls before it whose outcomes the model has not been told are shown as at work.
 */
function endRequest({ messages, ...body }: ModelRequest): ModelRequest {
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const changed = messages.map((message, position) => {
    if (position !== at || message.role !== 'user' || typeof message.content === 'string') return message;
    return { ...message, content: message.content.map((block) => showAtWork(stripCacheControl(block))) };
  });
  return { ...body, messages: changed };
}

function stripCacheControl(block: ContentBlockParam): ContentBlockParam {
  if (!('cache_control' in block)) return block;
  const { cache_control: _, ...rest } = block;
  return rest;
}

function showAtWork(block: ContentBlockParam): ContentBlockParam {
  if (block.type !== 'tool_result' || block.content !== NO_OUTCOME) return block;
  const { is_error: _, ...rest } = block;
  return { ...rest, content: AT_WORK };
}

type AskMeans = Omit<AsideQuestion, 'input'> & { readonly deps: SummaryDeps; readonly attempt: Attempt };

async function askModelOnce(
  { deps, attempt, config, chosen }: AskMeans,
  body: ModelRequest,
  model: ModelPort,
  billed: (spend: Spend) => void,
): Promise<AsideEnd | AsideStopped> {
  const replied = await askUnwatched({ ...deps, signal: attempt.signal, config, model, billed }, body, chosen.model);
  if (replied.kind === 'message') return toAnswer(replied.message, replied.spend, deps.redact);
  return replied.kind === 'failed' ? asideFailure(replied.failure.detail, replied.spend) : replied;
}

function toAnswer(message: Message, spend: Spend, redact: SummaryDeps['redact']): AsideEnd {
  const answer = redact(messageText(message)).trim();
  const { model, stop_reason: end } = message;
  if (answer === '') return asideFailure(end === 'tool_use' ? WANTS_TOOLS : `${model} said nothing (${end})`, spend);
  const text = answer.slice(0, LONGEST_ASIDE_ANSWER);
  return { kind: 'answered', text, cut: text.length < answer.length || end === 'max_tokens', model, spend };
}

const WANTS_TOOLS = 'the model wanted to call a tool instead of answering in words: ask again in other words';

const AT_WORK = '(Its result is not there yet: it was at work when the question below was asked.)';

const ASIDE = [
  'A person who follows this session asks something aside. Answer in words, briefly, from what you know by now: call no tools, for none would run.',
  'Neither the question nor your answer becomes a part of the conversation, and your work goes on as if it had not been asked. The question:',
].join(' ');
