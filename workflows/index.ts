// What the worker bundles: the one workflow type.
export { agentSession } from './agent-session.ts';
