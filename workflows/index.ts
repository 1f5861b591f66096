// What the worker bundles: the one workflow type.
export { agentSession as 'perdure.agentSession' } from './agent-session.ts';
