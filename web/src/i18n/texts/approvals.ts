/** Texts of the page of one request and of push notifications, loaded with them: [English, Chinese]. */
import type { Pair } from "..";

export const approvals = {
  "approval.title": ["Approval request", "审批请求"],
  "approval.inbox": ["All requests", "所有请求"],
  "approval.more": [
    "{count} more {count|request is|requests are} waiting",
    "还有 {count} 项请求等待处理",
  ],
  "approval.declining": ["Declining…", "正在拒绝…"],
  "approval.answered": ["{outcome} by {user}", "{outcome}（处理人：{user}）"],
  "approval.not_found": ["Request not found", "未找到该请求"],
  "approval.not_found.lead": [
    "It does not exist, has ended, or you may not see it.",
    "该请求不存在、已结束，或您无权查看。",
  ],
  "push.title": ["Push notifications", "推送通知"],
  "push.lead": [
    "Requests reach this device even when Tollgate is closed. Their texts are encrypted for this browser.",
    "即使未打开 Tollgate，请求也会送达此设备；内容已针对此浏览器加密。",
  ],
  "push.on": ["Notify this device", "通知此设备"],
  "push.off": ["Turn off on this device", "在此设备上关闭"],
  "push.this": ["This device", "此设备"],
  "push.devices": ["Devices", "设备"],
  "push.device": ["Device", "设备"],
  "push.added": ["Added", "添加时间"],
  "push.inactive": ["Inactive", "已失效"],
  "push.revoke": ["Revoke", "撤销"],
  "push.revoke.which": ["Revoke {device}", "撤销{device}"],
  "push.revoked": ["Device revoked", "已撤销设备"],
  "push.refused": [
    "The browser blocks notifications for this site. Allow them in the browser's site settings, then try again.",
    "浏览器已阻止此网站的通知。请在浏览器的网站设置中允许通知，然后重试。",
  ],
  "push.no_channel": [
    "No channel for Web Push exists yet. An administrator can add one.",
    "尚无 Web Push 渠道，可由管理员添加。",
  ],
  "push.insecure": [
    "Push notifications need HTTPS. Open Tollgate at its HTTPS address.",
    "推送通知需要 HTTPS。请通过 HTTPS 地址打开 Tollgate。",
  ],
  "push.missing": [
    "This browser has no push notifications. On an iPhone or iPad, add Tollgate to the home screen first.",
    "此浏览器不支持推送通知。在 iPhone 或 iPad 上，请先将 Tollgate 添加到主屏幕。",
  ],
  "chats.title": ["Chat accounts", "聊天账号"],
  "chats.lead": [
    "Linked accounts can answer with the buttons of messages in Slack and Telegram.",
    "已关联的账号可以用 Slack 和 Telegram 消息中的按钮作答。",
  ],
  "chats.link": ["Link a chat account", "关联聊天账号"],
  "chats.send": [
    "Send this message to the bot or app in a private chat before {time}. It works once.",
    "请在 {time} 之前，在私聊中将此消息发送给机器人或应用；仅可使用一次。",
  ],
  "chats.message": ["Message", "消息"],
  "chats.account": ["Account", "账号"],
  "chats.unlink": ["Unlink", "取消关联"],
  "chats.unlink.which": ["Unlink {account}", "取消关联 {account}"],
  "chats.unlinked": ["Chat account unlinked", "已取消关联聊天账号"],
  "push.label": ["{browser} on {system}", "{system} 上的 {browser}"],
} as const satisfies Record<string, Pair>;
