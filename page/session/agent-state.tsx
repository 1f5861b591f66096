// Draws how an agent stands, wherever its caller names it.
import type { SessionInfo } from '../../client/faces/types.ts';
import { agentStateOf } from '../fleet/session-state.ts';
import { TimedText } from '../figures.tsx';
import { Icon } from '../icons.tsx';

/** Shows how an agent stands: a shape, a colour and its words. */
export function AgentState({ agent, now }: { readonly agent: SessionInfo; readonly now: number }) {
  const { icon, tone, word } = agentStateOf(agent, now);
  return (
    <span class={`agent-state tone-${tone}`}>
      <Icon name={icon} />
      <span>
        <TimedText text={word} />
      </span>
    </span>
  );
}
