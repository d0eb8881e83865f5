import type { Setup } from '../../contract/setup.ts'
import { WINDOW } from '../../loop/window/sliding.ts'
import type { Store } from '../store/store.ts'
import type { HistoryView } from './history.ts'

/** Returns how much a model sees of the turns before a run: as the conversation says, else the edge, else by default. */
export function windowOptions({ config }: Pick<Setup, 'config'>, store: Store): HistoryView {
  const configured = { ...config.window, ...store.settings().window }
  const { messages, tokens, show = 'all' } = configured
  const isSliding = messages !== undefined || tokens !== undefined || show !== 'all'
  return { options: { ...WINDOW, ...configured }, isSliding }
}
