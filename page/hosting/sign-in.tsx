// Lets a browser in by the code of a printed address, or by a person's token. Its pass is in no
// address and, on this machine, in no file that commands of an agent could read: browsers keep HTTP
// authentication in memory.
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { Brand, Layout, htmlOf } from '../layout.tsx';
import { sessionIdProblem } from '../../client/faces/basics.ts';
import { type Access, codeIn, ENTERED, letIn, personIn, SIGN_IN, spendCode } from './access.ts';
import { CODE_MINUTES } from './passes.ts';
import { personWith } from './people.ts';

const signInBody = z.object({ token: z.string().max(1_000) });

const STALE = `This address was already used, or is more than ${CODE_MINUTES} minutes old. Print a new one with \`perdure page --address\`.`;
const NOT_OURS =
  'This address only works in a browser of the user who opened it. Print one that works in any browser with `perdure page --address`.';
const NOBODY = 'That token isn’t valid here.';

export function addSignIn(app: Hono, access: Access): void {
  app.use(async (context, next) => {
    const code = codeIn(context, access);
    if (code === undefined) return next();
    if (personIn(context, access) === null) return context.html(htmlOf(<SignIn access={access} />));
    spendCode(context, access, code);
    return context.redirect(ownPath(context.req.path), 303);
  });
  app.get(SIGN_IN, (context) => context.html(htmlOf(<SignIn access={access} />)));
  app.get(ENTERED, (context) => context.text('signed in'));
  app.post(SIGN_IN, async (context: Context) => {
    const body: unknown = await context.req.json().catch(() => null);
    const token = signInBody.safeParse(body).data?.token.trim() ?? '';
    const { owner } = access;
    // Codes contain a point and tokens do not.
    if (owner && token.includes('.')) {
      const result = spendCode(context, access, token);
      return result === 'good'
        ? letIn(context, access, owner.key)
        : context.text(result === 'stale' ? STALE : NOT_OURS, 401);
    }
    if (personWith(access.people, token) === null) return context.text(NOBODY, 401);
    return letIn(context, access, token);
  });
}

/**
 * Allows only a path of ours: browsers read `//evil`, `/\\evil` and the like, with tabs between, as
 * another site.
 */
function ownPath(path: string): string {
  const session = /^\/sessions\/([^/]+)$/.exec(path)?.[1];
  return session !== undefined && sessionIdProblem(session) === undefined ? `/sessions/${session}` : '/';
}

function SignIn({ access: { hosted } }: { readonly access: Access }) {
  return (
    <Layout title="Sign in" scripts={['sign-in.js']} bare>
      <form id="sign-in" class="sign-in card">
        <Brand />
        <h1>Sign in</h1>
        <label>
          <span>{hosted ? 'Your token' : 'Your token, or the code from a printed address'}</span>
          <input name="token" type="password" required autocomplete="current-password" />
        </label>
        <button class="first">Sign in</button>
        {hosted ? null : (
          <p class="quiet">
            <code>perdure page --address</code> prints an address that signs you in.
          </p>
        )}
      </form>
    </Layout>
  );
}
