import { serveTools } from 'edgecall/tool'
import { listSent, sendMail } from './tools.ts'

export { Outbox } from './outbox.ts'
export default serveTools(sendMail, listSent)
