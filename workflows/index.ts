// The worker bundles this file: it exports the workflow types.
export { agentSession as 'perdure.agentSession' } from './agent-session.ts';
export { delegatedWork as 'perdure.delegatedWork' } from './delegated/work.ts';
export { scheduledPrompt as 'perdure.scheduledPrompt' } from './parent/scheduled-prompt.ts';
export { sendWebhooks as 'perdure.webhookSender' } from './told/send-webhooks.ts';
export { sandboxLease as 'perdure.sandboxLease' } from './delegated/sandbox-lease.ts';
