// Observes requests to the model while their streams are read: duration, outcome, and bill.
import type { Message, RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';
import type { ModelPort } from '../model-deps.ts';
import type { Observe, ObservedPlace } from '../../store/live/observe.ts';
import { saysStop, usageWith } from './stream/accumulate.ts';
import { StalledStream } from './classify.ts';
import { type Prices, spendOf } from './bill.ts';

type WatchOptions = { readonly observe: Observe; readonly about: ObservedPlace; readonly prices: Prices };

/** Returns the same model, which reports how each of its calls went. */
export function watchModel(model: ModelPort, { observe, about, prices }: WatchOptions): ModelPort {
  return async (body, signal, alive) => {
    const at = Date.now();
    const began = performance.now();
    const passed = (): number => performance.now() - began;
    let usage: Message['usage'] | undefined;
    let hasEnded = false;
    let firstMs: number | null = null;
    const end = (error: string | null): void => {
      const spend = spendOf(usage, prices);
      observe({ kind: 'model_call', about, model: body.model, at, ms: passed(), firstMs, error, spend });
    };
    const watched = async function* (stream: AsyncIterable<RawMessageStreamEvent>) {
      let error: string | null = null;
      try {
        for await (const event of stream) {
          firstMs ??= passed();
          usage = usageAfter(event, usage);
          hasEnded ||= endsReply(event);
          yield event;
        }
      } catch (thrown) {
        error = errorOf(thrown, signal);
        throw thrown;
      } finally {
        end(error ?? (hasEnded ? null : errorOf(null, signal)));
      }
    };
    observe({ kind: 'model_request', about, at, body });
    try {
      return watched(await model(body, signal, alive));
    } catch (thrown) {
      end(errorOf(thrown, signal));
      throw thrown;
    }
  };
}

/** Tells whether an event ends the reply: with its stop reason it is whole (X4). */
function endsReply(event: AnyEvent): boolean {
  return event !== null && (event.type === 'message_stop' || saysStop(event));
}

function usageAfter(event: AnyEvent, before: Message['usage'] | undefined): Message['usage'] | undefined {
  if (event?.type === 'message_start') return event.message?.usage;
  if (event?.type !== 'message_delta' || !before) return before;
  return usageWith(before, event.usage);
}

/** A proxy may send any JSON; the reader of the stream judges it. */
type AnyEvent = {
  readonly type?: unknown;
  readonly message?: { readonly usage?: Message['usage'] };
  readonly usage?: object | null;
  readonly delta?: unknown;
} | null;

/** Names an error by a word of a small set, because it becomes a label. */
function errorOf(thrown: unknown, { aborted, reason }: AbortSignal): string {
  const status: unknown = (thrown as { readonly status?: unknown } | null)?.status;
  if (typeof status === 'number' && status >= 100 && status < 600) return String(status);
  if (aborted) return reason instanceof StalledStream ? 'stalled' : 'aborted';
  return 'connection';
}
