// One thread's events, from those of its agent's session (G68): statuses and messages get the
// names of thread events, and usage is reported only for whole sessions.
import type { BetaManagedAgentsAgentMessageEvent } from '@anthropic-ai/sdk/resources/beta/sessions';
import { eventId, threadId } from '../ids.ts';
import type { EventFact, Thread } from './parts.ts';

type Made = ReturnType<EventFact['make']>;

/** `primary`: the session that the thread belongs to. */
export function threadFacts(facts: readonly EventFact[], thread: Thread, primary: string): readonly EventFact[] {
  const task = facts.find(({ type }) => type === 'user.message');
  let answer: EventFact | undefined;
  return facts.flatMap((fact): readonly EventFact[] => {
    if (fact.type === 'agent.message') answer = fact;
    if (fact === task) return [taskFact(fact, primary)];
    if (fact.type === 'session.usage')
      return fact.entry?.kind === 'run_ended' ? answerFacts(fact, answer, primary) : [];
    return [statusFact(fact, thread)];
  });
}

/** The task of the agent that began the thread: its first message. */
const taskFact = (fact: EventFact, primary: string): EventFact =>
  changeFact(fact, 'agent.thread_message_received', (event, type) => ({
    id: fact.id,
    type,
    processed_at: String(event.processed_at),
    content: event.type === 'user.message' ? event.content : [],
    from_session_thread_id: threadId(primary),
  }));

/** The last words go to the primary thread. */
function answerFacts(usage: EventFact, answer: EventFact | undefined, primary: string): readonly EventFact[] {
  if (!answer) return [];
  const id = eventId(usage.id, 'sent');
  const { entry } = answer;
  const make: EventFact['make'] = (bodies) => ({
    id,
    type: 'agent.thread_message_sent',
    processed_at: String(usage.make(bodies).processed_at),
    content: (answer.make(bodies) as BetaManagedAgentsAgentMessageEvent).content,
    to_session_thread_id: threadId(primary),
  });
  return [{ ...usage, id, type: 'agent.thread_message_sent', entry, make }];
}

function statusFact(fact: EventFact, { session, name }: Thread): EventFact {
  const about = { session_thread_id: threadId(session), agent_name: name };
  switch (fact.type) {
    case 'session.status_running':
      return changeFact(fact, 'session.thread_status_running', (event, type) => ({
        ...placeOf(event),
        type,
        ...about,
      }));
    case 'session.status_rescheduled':
      return changeFact(fact, 'session.thread_status_rescheduled', (event, type) => ({
        ...placeOf(event),
        type,
        ...about,
      }));
    case 'session.status_terminated':
      return changeFact(fact, 'session.thread_status_terminated', (event, type) => ({
        ...placeOf(event),
        type,
        ...about,
      }));
    case 'session.status_idle':
      return changeFact(fact, 'session.thread_status_idle', (event, type) => ({
        ...placeOf(event),
        type,
        ...about,
        stop_reason: event.type === 'session.status_idle' ? event.stop_reason : { type: 'end_turn' },
        stop_details: event.type === 'session.status_idle' ? event.stop_details : null,
      }));
    default:
      return fact;
  }
}

const placeOf = ({ id, processed_at }: Made) => ({ id, processed_at: String(processed_at) });

function changeFact<Type extends EventFact['type']>(
  fact: EventFact,
  type: Type,
  change: (event: Made, type: Type) => Extract<Made, { type: Type }>,
): EventFact {
  return { ...fact, type, make: (bodies) => change(fact.make(bodies), type) };
}
