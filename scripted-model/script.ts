// The words of a script: replies, faults and the conditions under which a reply is given. The file
// format is the same, as JSON (docs/scripted-model.md); a script written in TypeScript may also
// hold a stream open, or be a function.
import type { MessageCreateParamsBase } from '@anthropic-ai/sdk/resources/messages';

/** A request that passed validation, as the client sent it. */
export type ParsedRequest = MessageCreateParamsBase & {
  /**
   * The reply's text becomes the summary; without a text, or with another stop reason, no summary
   * is made.
   */
  readonly compaction?: { readonly type: 'summarize'; readonly instructions?: string | null } | null;
  readonly fallbacks?: 'default' | readonly { readonly model: string }[] | null;
};

export type ReplyBlock =
  | { readonly type: 'text'; readonly text: string }
  /**
   * Signed for the request's model unless `signature` is given. Sent back changed, or to another
   * model, it is refused (L59).
   */
  | {
      readonly type: 'thinking';
      readonly thinking: string;
      readonly signature?: string;
      /** A note between calls, which is shown with `display: "updates"`, too. */
      readonly note?: boolean;
      /**
       * Milliseconds with nothing but pings before the block is sent; a ping each 1,000 ms unless
       * `pingMs` gives another time.
       */
      readonly silentMs?: number;
      readonly pingMs?: number;
    }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  /** `inputJson` is streamed as it is, so that a call's input can be broken JSON. */
  | {
      readonly type: 'tool_use';
      readonly name: string;
      readonly input?: unknown;
      readonly inputJson?: string;
      readonly id?: string;
    }
  /**
   * The API searches the web by itself: what it finds stands right behind it. Without `results` and
   * `error` the search is left open, as in a reply that is paused (`stop_reason: "pause_turn"`),
   * and `web_search_result` closes it in the reply that goes on.
   */
  | {
      readonly type: 'web_search';
      readonly query: string;
      readonly id?: string;
      readonly results?: readonly SearchResult[];
      readonly error?: string;
    }
  | {
      readonly type: 'web_search_result';
      readonly id: string;
      readonly results?: readonly SearchResult[];
      readonly error?: string;
    }
  /** Any other block, sent whole in its content_block_start. */
  | { readonly type: 'raw'; readonly block: Readonly<Record<string, unknown>> };

/** A page that a search found; its text goes to the model sealed. */
export type SearchResult = { readonly url: string; readonly title: string; readonly text?: string };

export type ReplyUsage = {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cache_read_input_tokens?: number;
  readonly cache_creation_input_tokens?: number;
};

/**
 * Conditions on a request; all that are given must hold. Texts match when they occur in the named
 * part.
 */
export type RequestCondition = {
  /** Occurs in the text blocks of the last user message. */
  readonly lastUserText?: string;
  /** Occurs in one tool_result of the last user message. */
  readonly toolResult?: string;
  /** Whether the last user message has any tool_result. */
  readonly hasToolResult?: boolean;
  readonly system?: string;
  readonly model?: string;
  readonly maxTokens?: number;
  /** Whether the request asks for a summary of the conversation. */
  readonly compaction?: boolean;
};

/**
 * A fault. Events are counted as sent: message_start is the first, pings count. Bytes are those of
 * the response's body.
 */
export type Fault =
  | {
      readonly status: number;
      readonly message?: string;
      /** The value of `error.details.error_code`. */
      readonly errorCode?: string;
      /** Seconds, or an HTTP date. */
      readonly retryAfter?: number | string;
      readonly xShouldRetry?: boolean;
    }
  | { readonly too_long: true }
  | { readonly media_too_large: true }
  /** The connection is destroyed before any answer. */
  | { readonly hangUp: true }
  /** The connection stays open and nothing is answered. */
  | { readonly silence: true }
  | { readonly cutAtByte: number }
  | { readonly cutAfterEvent: number }
  | { readonly silenceAfterEvent: number }
  /** `pingMs` is the number of milliseconds between pings, 1,000 unless given. */
  | { readonly pingsAfterEvent: number; readonly pingMs?: number }
  /**
   * Sends `garbage` after this event, an event with broken JSON unless given, and ends the stream.
   */
  | { readonly garbageAfterEvent: number; readonly garbage?: string }
  /**
   * Sends an `error` event of this type inside a 200, after `afterEvent` events (1 unless given),
   * and ends the stream.
   */
  | { readonly errorEvent: string; readonly afterEvent?: number; readonly message?: string }
  /** The stream ends well after message_delta. */
  | { readonly withoutMessageStop: true }
  /**
   * The reply ends with stop_reason max_tokens after `chars` characters of the stream of block
   * `block`.
   */
  | { readonly maxTokensAfter: { readonly block: number; readonly chars: number } };

/**
 * The model that was asked declines; the model it is handed over to says what comes after `at`
 * blocks, or it is not said.
 */
export type DeclinedReply = {
  readonly category: string | null;
  readonly explanation?: string;
  /** Blocks that it says before; 0 unless given. */
  readonly at?: number;
};

export type Reply = {
  readonly content?: readonly ReplyBlock[];
  /** Absent: `tool_use` when there is such a block, else `end_turn`. */
  readonly stop_reason?: string | null;
  readonly stop_details?: Readonly<Record<string, unknown>>;
  readonly declined?: DeclinedReply;
  /** Absent fields are computed; null sends no usage. */
  readonly usage?: ReplyUsage | null;
  /** Absent: the request's model. */
  readonly model?: string;
  /** Milliseconds before the response's headers. */
  readonly delayMs?: number;
  /** Milliseconds before each event. */
  readonly msPerEvent?: number;
  /** Characters in each text, thinking or JSON delta; 200 unless given. */
  readonly deltaChars?: number;
  /** Writes to the socket carry at most this many bytes, whatever they cut through. */
  readonly chunkBytes?: number;
  /** The reply is passed over for a request that does not meet it. */
  readonly when?: RequestCondition;
  /** A request that does not meet it breaks the script, loudly. */
  readonly expect?: RequestCondition;
  readonly fault?: Fault;
  /** The number of requests that it answers: 1 unless given. */
  readonly times?: number | 'any';
  /**
   * The stream stops after `holdAfterEvent` events (1 unless given) until this resolves. Not in
   * files.
   */
  readonly hold?: Promise<void>;
  readonly holdAfterEvent?: number;
};

export type ScriptData = {
  readonly replies: readonly Reply[];
  /** Tokens; a longer prompt is refused as too long. */
  readonly window?: number;
  /** Tokens; a larger max_tokens is refused. */
  readonly maxOutputTokens?: number;
  readonly account?: AccountOptions;
};

/**
 * The account of the key: it decides the treatment of thinking whose prefix has changed, and of
 * thinking of another account.
 */
export type AccountOptions = {
  /**
   * A time as in ISO 8601; `new` (unless given): the prefix is checked by default; `old`: it is
   * not, but for the newest models.
   */
  readonly created?: string;
  readonly id?: string;
};

/**
 * A script as a function. `n` counts the requests that reached the script, from 1. Undefined: the
 * script has no reply.
 */
export type ScriptFunction = (request: ParsedRequest, n: number) => Reply | undefined | Promise<Reply | undefined>;

export type Script = ScriptFunction | ScriptData | readonly Reply[];
