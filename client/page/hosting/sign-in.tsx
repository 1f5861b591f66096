// Where people of a page that is open to other machines give their token. It goes into a cookie, and into no address.
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { Layout, htmlOf } from '../layout.tsx';
import { type Access, setToken, SIGN_IN } from './access.ts';
import { personWith } from './people.ts';

const given = z.object({ token: z.string().max(1_000) });

export function addSignIn(app: Hono, access: Access): void {
  if (!access.hosted) return;
  app.get(SIGN_IN, (context) => context.html(htmlOf(<SignIn />)));
  app.post(SIGN_IN, async (context: Context) => {
    const body: unknown = await context.req.json().catch(() => null);
    const token = given.safeParse(body).data?.token.trim() ?? '';
    if (personWith(access.people, token) === null) return context.text('nobody here has that token', 401);
    setToken(context, access, token);
    return context.text('signed in');
  });
}

function SignIn() {
  return (
    <Layout title="Sign in" scripts={['sign-in.js']}>
      <h1>Sign in</h1>
      <form id="sign-in" class="sign-in">
        <label>
          <span>Your token</span>
          <input name="token" type="password" required autocomplete="current-password" />
        </label>
        <button>Sign in</button>
      </form>
    </Layout>
  );
}
