// The means that all methods of one client share: reads of sessions, the actor's name, updates.
import type { Entry } from '../../store/log/entries.ts';
import { createLimit } from '../../system/async.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { QUERIES, type SessionView, SIGNALS } from '../../workflows/contract/session.ts';
import type { Signature, SignalOnce } from '../../workflows/contract/steered.ts';
import { ClientProblem } from '../problem.ts';
import type { ActOptions } from './waiting-approval.ts';
import { entriesFrom, type TranscriptReader, transcriptReader } from './transcript-reader.ts';
import type { Finder } from './find/list-sessions.ts';
import { underWayReader } from './find/stream-sessions.ts';
import type { SessionDescription } from './info.ts';
import { newMessageId, parseMessageId, parseSessionId } from './ids.ts';
import { nameProblem } from './message.ts';
import { headOf, type NewestStep, newestStepOf } from './newest-head.ts';
import { observePhases, type Observer } from './watch-pollers.ts';
import { callUntilAnswered, impatient } from './persist.ts';
import { runningReader } from './running/read-running.ts';
import { sendSignal, sessionClosedProblem } from './send.ts';
import { type ClientOptions, describeOwnSession, type OnceOptions } from './start.ts';
import { MOST_UPDATES, update } from './updates/update.ts';

export class ClientMeans {
  readonly options: ClientOptions;
  readonly reader: TranscriptReader;
  /** Name of the person who acts unless a method names one: the client's, or its identity. */
  readonly name: string;
  readonly #few = createLimit(MOST_UPDATES);
  readonly finder: Omit<Finder, 'observePhase'> & { readonly observePhase: Observer };

  constructor(options: ClientOptions) {
    this.options = options;
    this.reader = transcriptReader(options.store);
    const { temporal } = options;
    this.finder = {
      ...options,
      observePhase: observePhases(temporal),
      readRunning: runningReader(options),
      readUnderWay: underWayReader(temporal),
    };
    this.name = options.by ?? temporal.options.identity;
  }

  readonly look = (session: SessionId): Promise<SessionDescription> =>
    callUntilAnswered(
      this.options.temporal,
      `look at session ${session}`,
      () => describeOwnSession(this.options, session),
      impatient,
    );

  /** Throws ClientProblem `closed` for a session that takes nothing more. */
  readonly lookAtOpen = async (session: SessionId): Promise<SessionDescription> => {
    const described = await this.look(session);
    if (described.status !== 'open') throw sessionClosedProblem(described);
    return described;
  };

  /**
   * Sends an update that a worker takes, and waits for its answer. A decision says itself who acts,
   * other updates are signed. Throws ClientProblem.
   */
  update(session: SessionId, name: string, arg: object, signed?: Signature): Promise<void> {
    const { temporal } = this.options;
    const workers = () => this.look(session);
    return this.#few(() => update({ temporal, session, name, arg, signed, workers }));
  }

  /** Changes an open session in the name of the person who acts. Throws ClientProblem. */
  async updateOpen(session: SessionId, name: string, arg: object, options: ActOptions): Promise<void> {
    const by = this.actor(options);
    await this.lookAtOpen(session);
    await this.update(session, name, arg, { by });
  }

  readonly head = (session: SessionId): Promise<Hash | null> => {
    const { temporal } = this.options;
    return callUntilAnswered(temporal, `read session ${session}`, () => headOf(temporal, session), impatient);
  };

  /** Asks a worker of the session. */
  readonly view = (session: SessionId): Promise<SessionView> => {
    const { temporal } = this.options;
    const query = (): Promise<SessionView> => temporal.workflow.getHandle(session).query(QUERIES.view);
    return callUntilAnswered(temporal, `ask session ${session} what waits`, query, impatient);
  };

  readonly newestStep = (session: SessionId): Promise<NewestStep> => {
    const { temporal } = this.options;
    return callUntilAnswered(temporal, `read session ${session}`, () => newestStepOf(temporal, session), impatient);
  };

  /**
   * Other stores may share the server. Looking first keeps a message from being lost in a session
   * of another store.
   */
  async reach(id: string): Promise<SessionId> {
    const session = parseSessionId(id);
    if (this.options.storeId) await this.look(session);
    return session;
  }

  async readTranscript(session: SessionId): Promise<readonly Entry[]> {
    const entries: Entry[] = [];
    const head = await this.head(session);
    for await (const { entry } of entriesFrom(this.options.store, session, head, 0)) entries.push(entry);
    return entries;
  }

  /** Returns the name of the person who acts. Throws ClientProblem for one that cannot be used. */
  actor({ by }: ActOptions = {}): string {
    const problem = by === undefined ? undefined : nameProblem(by);
    if (problem !== undefined) throw new ClientProblem('refused', problem);
    return by ?? this.name;
  }

  /** Sends a signal that counts once, however often it is sent with its id. */
  async sendOnce(id: string, name: SignalOnce['signal'], options: OnceOptions = {}): Promise<void> {
    const { messageId = newMessageId() } = options;
    const sent: SignalOnce = { signal: name, id: parseMessageId(messageId), by: this.actor(options) };
    await sendSignal(this.options.temporal, await this.reach(id), SIGNALS[name], [sent]);
  }
}
