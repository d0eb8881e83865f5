import type { Invocation } from './command.ts'

/** What commands about an edge need: its address, and where to write. */
export async function remote({ root, env, terminal, signal }: Invocation, url: string | undefined) {
  const { addressOf } = await import('../remote/address.ts')
  return { edge: addressOf({ root, env, url }), terminal, signal }
}
