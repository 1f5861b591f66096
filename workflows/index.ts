// The worker bundles this file: it exports the one workflow type.
export { agentSession as 'perdure.agentSession' } from './agent-session.ts';
