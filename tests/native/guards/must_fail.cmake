# Passes when FILE does not compile and the compiler says what the file's first line expects:
#   // expect: <text>
file(STRINGS ${FILE} first LIMIT_COUNT 1)
if(NOT first MATCHES "^// expect: (.+)$")
  message(FATAL_ERROR "${FILE} must start with \"// expect: <text>\"")
endif()
set(expected "${CMAKE_MATCH_1}")
list(TRANSFORM INCLUDES PREPEND -I)
execute_process(COMMAND ${COMPILER} -std=c++20 -fno-exceptions -fno-rtti -fsyntax-only -Wall -Wextra -Werror ${INCLUDES} ${FILE}
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "${FILE} compiled, but must not")
endif()
string(FIND "${output}" "${expected}" found)
if(found EQUAL -1)
  message(FATAL_ERROR "${FILE} failed without saying \"${expected}\":\n${output}")
endif()
