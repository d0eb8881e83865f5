import type { WindowOptions } from '../../contract/conversation.ts'
import type { Setup } from '../../contract/setup.ts'
import { WINDOW } from '../../loop/perform/window.ts'
import type { Store } from '../store/store.ts'

/** Returns how much a model sees of the turns before a run: as the conversation says, else the edge, else by default. */
export function windowOptions({ config }: Setup, store: Store): WindowOptions {
  return { ...WINDOW, ...config.window, ...store.settings().window }
}
