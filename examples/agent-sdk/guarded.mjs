// @ts-check
// Hooks of the program around built-in tools: one asks a guard before each file is written, one
// tells an audit of what was, one adds a text to the prompt, and one sends the model back to work
// until the notes are there. They run in this process, and are asked again after a kill.
import { existsSync } from 'node:fs';
import { query } from 'perdure/agent-sdk';

/** @param {string} path @param {unknown} body */
async function ask(path, body) {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${process.env.GUARD_URL}${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  return answer.text();
}

const messages = query({
  prompt: 'Write the notes of the release.',
  options: {
    tools: ['Write', 'Read'],
    permissionMode: 'acceptEdits',
    hooks: {
      UserPromptSubmit: [
        {
          hooks: [
            async () => {
              const additionalContext = 'The release is 4.2, of today.';
              return { hookSpecificOutput: { hookEventName: 'UserPromptSubmit', additionalContext } };
            },
          ],
        },
      ],
      PreToolUse: [
        {
          matcher: 'Write|Edit',
          hooks: [
            async (told) => {
              if (told.hook_event_name !== 'PreToolUse') return {};
              const why = await ask('/guard', told.tool_input);
              const decision = why === '' ? /** @type {const} */ ('allow') : /** @type {const} */ ('deny');
              return {
                hookSpecificOutput: {
                  hookEventName: 'PreToolUse',
                  permissionDecision: decision,
                  permissionDecisionReason: why,
                },
              };
            },
          ],
        },
      ],
      PostToolUse: [
        {
          matcher: 'Write',
          hooks: [
            async (told) => {
              if (told.hook_event_name === 'PostToolUse')
                await ask('/audit', { tool: told.tool_name, input: told.tool_input });
              return {};
            },
          ],
        },
      ],
      Stop: [
        { hooks: [async () => (existsSync('NOTES.md') ? {} : { decision: 'block', reason: 'NOTES.md is missing.' })] },
      ],
    },
  },
});
for await (const message of messages) console.log(JSON.stringify(message));
