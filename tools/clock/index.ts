import { serveTools } from '../../src/tool.ts'
import { currentTime, shiftTime } from './tools.ts'

export default serveTools(currentTime, shiftTime)
