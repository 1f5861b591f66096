// The action on a prompt that forks its session right before it, in files of its own where there
// are snapshots (T10). The new session opens with nothing sent: its person writes another prompt.
export function ForkFromHere({ session, position }: { readonly session: string; readonly position: number }) {
  return (
    <button
      type="button"
      class="fork-here"
      data-needs="steer"
      hx-post={`/sessions/${session}/fork`}
      hx-vals={JSON.stringify({ at: String(position) })}
      hx-target="#said"
    >
      Fork from here
    </button>
  );
}
