/** Texts of the frame around the pages: [English, Chinese]. */
export const shell = {
  "nav.chat": ["Chat", "对话"],
  "nav.admin": ["Admin", "控制台"],
  "nav.main": ["Main navigation", "主导航"],
  "nav.open": ["Open navigation", "打开导航"],
  "nav.close": ["Close navigation", "关闭导航"],
  "nav.skip": ["Skip to content", "跳到正文"],
  "nav.waiting": ["{count} pending {count|confirmation|confirmations}", "{count} 项确认待处理"],

  "alert.confirmation": ["A tool call is waiting for your approval", "有工具调用等待您审批"],
  "alert.question": ["An agent is asking you a question", "智能体向您提问"],

  "user.menu": ["Account and appearance", "账户与外观"],
  "user.signed_in": ["Signed in as {user}", "已登录：{user}"],
  "user.sign_out": ["Sign out", "退出登录"],
  "user.language": ["Language", "语言"],
  "user.colors": ["Colours", "配色"],
  "user.colors.auto": ["System", "跟随系统"],
  "user.colors.light": ["Light", "浅色"],
  "user.colors.dark": ["Dark", "深色"],

  "signin.title": ["Sign in to Tollgate", "登录 Tollgate"],
  "signin.lead": [
    "Sign in to chat with agents, approve tool calls and manage this installation.",
    "登录后可与智能体对话、审批工具调用并管理此安装。",
  ],
  "signin.token": ["Access token", "访问令牌"],
  "signin.token.help": [
    "The first start prints a token in its terminal and saves it as bootstrap.token in the data folder. To create another, run tollgate token create.",
    "首次启动时会在终端显示，并保存在数据目录的 bootstrap.token 中。如需新令牌，请运行 tollgate token create。",
  ],
  "signin.submit": ["Sign in", "登录"],
  "signin.show": ["Show the token", "显示令牌"],
  "signin.kept": [
    "The token is exchanged for a cookie that scripts cannot read. This page does not store it.",
    "令牌会换成脚本无法读取的 Cookie，本页面不会保存令牌。",
  ],

  "error.title": ["Something went wrong", "操作未成功"],
  "error.retry": ["Try again", "重试"],
  "error.reload": ["Reload the page", "重新加载页面"],
  "error.copy_id": ["Error {id}", "错误编号 {id}"],
  "error.fields": ["Check these fields:", "请检查："],
  "error.unreachable": ["Can't reach the service.", "服务没有响应。"],
  "error.unreachable.fix": [
    "Check that it is running (`tollgate serve`) and that your network can reach it, then try again.",
    "请确认服务正在运行（`tollgate serve`）且网络可达。",
  ],
  "error.unreadable_answer": [
    "The response did not come from the service.",
    "页面与服务之间的其他程序返回了无法识别的内容。",
  ],
  "error.unreadable_answer.fix": [
    "Check the proxy between this page and the service.",
    "请检查前置代理的配置。",
  ],
  "error.unauthenticated.fix": ["Sign in with a valid token.", "请使用有效令牌登录。"],
  "error.forbidden.fix": [
    "Sign in with a token that has the required scope, or ask an administrator.",
    "请使用具备所需权限的令牌登录，或联系管理员。",
  ],
  "error.not_found.fix": [
    "It may have been deleted, or belong to another user. Go back and choose another.",
    "它可能已被删除或属于他人。请返回并重新选择。",
  ],
  "error.busy.fix": ["Wait until the run ends, or stop it.", "请等待当前运行结束，或先停止它。"],
  "error.version_mismatch.fix": [
    "Someone else changed it. Reload, then make your change again.",
    "期间有人修改过。请重新加载后再次修改。",
  ],
  "error.rate_limited.fix": ["Wait a moment, then try again.", "请稍候再试。"],
  "error.storage_unavailable.fix": [
    "The service's disk is full, or its database is locked. Free up disk space, then try again.",
    "服务的磁盘或数据库已满或被锁定。请释放空间。",
  ],
  "error.unanswered": [
    "The service did not respond in time. Try again.",
    "服务未在时限内应答，请重试。",
  ],
  "error.connection_closed": ["The connection was closed. Try again.", "连接已关闭，请重试。"],
  "error.connection_refused": [
    "The service closed the connection. Sign in again.",
    "服务关闭了连接，请重新登录。",
  ],
  "error.unexpected": [
    "An unexpected error occurred. Try again, or reload the page.",
    "发生了意外错误，请重试或重新加载页面。",
  ],
  "error.page": ["We couldn't show this page", "无法显示此页面"],

  "page.not_found": ["Page not found", "页面不存在"],
  "page.not_found.lead": [
    "We couldn't find that page. Check the address.",
    "找不到该页面，请检查地址。",
  ],
  "page.home": ["Go to chat", "前往对话"],
  "page.forbidden": ["This page requires the scope `{scope}`", "此部分需要权限 `{scope}`"],

  "connection.lost": [
    "Connection lost. Reconnecting… Runs continue and no messages are lost.",
    "连接已断开，正在重连。运行仍在继续，内容不会丢失。",
  ],
  "connection.now": ["Reconnect now", "立即重连"],
  "connection.refused": [
    "The service closed the connection. Your token may have expired or been revoked: sign in again.",
    "服务关闭了连接。您的令牌可能已过期或被撤销，请重新登录。",
  ],

  "common.save": ["Save", "保存"],
  "common.cancel": ["Cancel", "取消"],
  "logins.title": ["Browser sessions", "已登录的浏览器"],
  "logins.lead": [
    "Browsers signed in with your token. Signing one out does not revoke the token.",
    "使用你的令牌登录的浏览器。退出登录后令牌仍然有效。",
  ],
  "logins.lead_all": [
    "Browsers signed in with any token. A signed-out user can sign in again; to prevent that, revoke the token.",
    "所有令牌的浏览器登录。退出后仍可重新登录；如需阻止请撤销令牌。",
  ],
  "logins.empty": ["No browser is signed in.", "没有已登录的浏览器。"],
  "logins.since": ["Signed in", "登录时间"],
  "logins.this": ["This browser", "当前浏览器"],
  "logins.sign_out": [
    "Sign out the browser of {user}, signed in {since}",
    "退出登录：{user} 于 {since} 登录的浏览器",
  ],
  "logins.ended": ["Browser signed out", "该浏览器已退出登录"],
  "logins.settings_token": ["token from the settings", "设置中的令牌"],
  "common.close": ["Close", "关闭"],
  "common.copy": ["Copy", "复制"],
  "common.copied": ["Copied", "已复制"],
  "common.loading": ["Loading", "正在加载"],
  "common.search": ["Search", "搜索"],
  "common.none": ["None", "无"],
  "common.yes": ["Yes", "是"],
  "common.no": ["No", "否"],
  "common.more": ["Show more", "显示更多"],
} as const satisfies Record<string, readonly [string, string?]>;
